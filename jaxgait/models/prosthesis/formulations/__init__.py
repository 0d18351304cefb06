"""The paper's own formulation with Lagrange multipliers, as an independent check of the model."""
