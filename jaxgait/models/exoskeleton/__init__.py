"""The exoskeleton of links of variable length, by the matrix method."""

from jaxgait.registry import lazy

MODELS = {"exoskeleton": "model:Exoskeleton"}
EXPERIMENTS = ("exoskeleton",)

__getattr__ = lazy(
    __name__,
    model="Exoskeleton five_links",
    design="least_work",
    elements="Planar Spatial",
    tree="Chain RodLink",
    walking="JoinedGait WalkingGait",
    measures="histories step_figures",
    pictures="actuator_curves ground_reaction kinogram",
)
