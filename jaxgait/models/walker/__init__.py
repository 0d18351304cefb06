"""The round-foot passive walker: smooth contact, complementarity with friction and impact, and event-driven."""

from jaxgait.registry import lazy

MODELS = {"walker": "smooth:Walker", "rigid-walker": "rigid:RigidWalker", "rolling-walker": "rigid:RollingWalker"}
EXPERIMENTS = ("walker",)

__getattr__ = lazy(
    __name__,
    round_feet="BristledWalkerState RoundFeet WalkerState",
    smooth="Walker",
    rigid="RigidWalker RollingState RollingWalker",
    measures="MEASURES PAPER_POINT RIGID_MEASURES ROLLING_MEASURES passing_gait rolling_gait",
    design="fastest_stable_gait",
    pictures="phase_portrait",
)
