"""The paper's Lagrange multipliers, to check the model."""
