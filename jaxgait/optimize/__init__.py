"""Tuning of design parameters by gradient: optax loops with bounds and several starts."""

from jaxgait.optimize.design import Optimum as Optimum
from jaxgait.optimize.design import optimize as optimize
