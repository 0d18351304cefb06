"""The knee's periodic gaits as objects: followed in the damper's stiffness, with their multipliers and bifurcations."""
