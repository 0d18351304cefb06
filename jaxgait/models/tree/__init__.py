"""Mechanisms assembled from bodies, joints, contact points and drives."""

from jaxgait.registry import lazy

__getattr__ = lazy(
    __name__,
    mjcf="from_mujoco",
    model="TreeModel TreeState",
    motions="Sampled",
    parts="ContactPoint Force Limits LockedJoint Motor PrescribedJoint Rotor Spring Stop Torque",
)
