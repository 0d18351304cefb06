"""The paper's own formulation with Lagrange multipliers, the oracle of the model."""
