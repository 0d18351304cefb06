"""The jumping human of fifteen bodies with a flexible sole: in the plane, in space, and as a robot."""

from jaxgait.registry import lazy

MODELS = {"jumper": "human:Jumper", "jumping-robot": "robot:JumpingRobot", "spatial-jumper": "spatial:SpatialJumper"}
EXPERIMENTS = ("jumper",)

__getattr__ = lazy(
    __name__,
    human="Jumper",
    design="highest_jump",
    planar="JumperState PlanarJumper",
    robot="JumpingRobot",
    spatial="SpatialJumper SpatialState",
    sole="Sole",
    swing="Swing",
    landing="Absorption assess_landing with_landing",
    measures="MEASURES assess",
    pictures="foot_maps ground_reaction landings postures sole_map",
)
