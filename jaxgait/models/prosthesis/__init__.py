"""The prosthetic leg with a four-bar knee, driven by measured hip motion."""

from jaxgait.registry import lazy

MODELS = {"knee": "model:Prosthesis"}
EXPERIMENTS = ("knee", "knee-gaits")

__getattr__ = lazy(
    __name__,
    model="Prosthesis",
    fitting="with_drive",
    leg="BristledKneeState KneeState SocketState",
    parts="Ankle Damper Ground JointDampedAnkle Linkage Lock Masses Segments Socket",
    measures="MEASURES curves",
    pictures="ground_forces knee_curves scan_maps spectra",
)
