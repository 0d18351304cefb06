"""The paper's own formulation by spatial operators, the oracle of the chain."""
