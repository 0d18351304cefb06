"""The creeping in-pipe robot: along its axis, with many units, and in space by spatial operators."""

from jaxgait.registry import lazy

MODELS = {"creeper": "model:Creeper", "creeper-chain": "chain:CreeperChain", "inchworm": "inchworm:Inchworm"}
EXPERIMENTS = ("creeper",)

__getattr__ = lazy(
    __name__,
    design="fastest_gait",
    model="Creeper CreeperState Gait Pads",
    artery="Blood Inflow",
    chain="Bearing ChainState CreeperChain SoftExtension",
    inchworm="Inchworm",
    measures="MEASURES grip_threshold peak_load",
)
