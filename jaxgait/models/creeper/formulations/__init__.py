"""The paper's own formulation by spatial operators, as an independent check of the chain."""
