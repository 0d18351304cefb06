"""Models of a script in another process: with the values that they were sent with, and those that are made there."""

import subprocess
import sys

SCRIPT = '''
import subprocess, sys
import cloudpickle
import equinox as eqx
from jaxgait import Bungee, parameter
from jaxgait.contents import contents
from jaxgait.mechanics.spatial import Link, hinge
from jaxgait.models.tree import TreeModel
from jaxgait.precision import cast

class Wind(Bungee):
    push: float = parameter(0.0, unit="N", doc="upward push of the wind")
    def calm(self):
        return CALM  # sent with this method, before the class has its fields

CALM = Wind()

class Given(Wind):
    def __init__(self, half):
        super().__init__(push=2.0 * half)

class Doubled(Wind):
    def __post_init__(self):
        self.push = 2.0 * self.push

class Gain(eqx.Module):
    k: float = 1.0

class Hold(eqx.Module):
    gains: tuple = ()
    stiffness: float = parameter(80.0, unit="N m/rad", doc="moment per error")
    def __call__(self, t, q, v):
        return -self.stiffness * q

def made():
    return Wind(push=3.0), Given(2.0), Doubled(push=2.5)

def read(*winds):
    return [float(one.push) for one in cast(winds)], contents(winds[0])

arm = TreeModel([Link("arm", None, hinge((0, 1, 0)), mass=1.0)], drives={"hold": Hold((Gain(9.0),), 20.0)})
sent = cloudpickle.dumps((made(), made, read, arm)).hex()
there = f"""
import cloudpickle, pickle
from jaxgait.fields import assemble
from jaxgait.precision import cast
sent, made, read, arm = pickle.loads(bytes.fromhex('{sent}'))
assert read(*sent) == read(*made()) == ([3.0, 4.0, 5.0], {{}})
assert cast(assemble(type(sent[0]).__base__, vars(sent[0]))).push == 3.0
assert (hold := cast(arm).drives["hold"]).stiffness == 20.0 and hold.gains[0].k == 9.0
print(cloudpickle.dumps((*made(), arm)).hex())
"""
command = [sys.executable, "-W", "error::UserWarning", "-c", there]
done = subprocess.run(command, capture_output=True, text=True, check=True)
back = cloudpickle.loads(bytes.fromhex(done.stdout))
print(*(type(one).__name__ for one in back), back == (*made(), arm))
'''


def test_models_of_a_script_keep_their_values_in_another_process():
    """There, all had the defaults of their classes, without a word."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "Wind Given Doubled TreeModel True", done.stderr[-500:]
