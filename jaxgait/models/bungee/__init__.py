"""The bungee jumper: a mass on a rope. The quick start."""

from jaxgait.registry import lazy

MODELS = {"bungee": "model:Bungee"}
EXPERIMENTS = ("bungee",)

__getattr__ = lazy(__name__, model="Bungee", measures="MEASURES clearance critical_value lowest_point")
