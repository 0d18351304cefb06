"""Design optimisation by library methods: parallel starts, limits, three kinds of gradients."""

from jaxgait.optimization.design import Optimum as Optimum
from jaxgait.optimization.design import optimize as optimize
from jaxgait.optimization.goals import at_least as at_least
from jaxgait.optimization.goals import at_most as at_most
from jaxgait.optimization.local_sensitivity import sensitivities as sensitivities
from jaxgait.optimization.pareto import front as front
