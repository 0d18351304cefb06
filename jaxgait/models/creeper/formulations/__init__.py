"""The paper's spatial operators, to check the chain."""
