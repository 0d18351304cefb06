"""Tuning of design parameters by gradient: optax loops with bounds and several starts."""

from jaxgait.optimization.design import Optimum as Optimum
from jaxgait.optimization.design import optimize as optimize
