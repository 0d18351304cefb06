"""Tuning of design parameters by gradient: optax loops with bounds and several starts, SLSQP under constraints."""

from jaxgait.optimization.constrained import constrained_search as constrained_search
from jaxgait.optimization.design import Optimum as Optimum
from jaxgait.optimization.design import optimize as optimize
