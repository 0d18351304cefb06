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

class Given(Wind):
    def __init__(self, half):
        super().__init__(push=2.0 * half)

class Hold(eqx.Module):
    stiffness: float = parameter(80.0, unit="N m/rad", doc="moment per error")
    def __call__(self, t, q, v):
        return -self.stiffness * q

def made():
    return Wind(push=3.0), Given(2.0)

def read(wind, given):
    found = cast((wind, given))
    return float(found[0].push), float(found[1].push), contents(wind)

arm = TreeModel([Link("arm", None, hinge((0, 1, 0)), mass=1.0)], drives={"hold": Hold(stiffness=20.0)})
sent = cloudpickle.dumps((made(), made, read, arm)).hex()
there = f"""
import cloudpickle, pickle
from jaxgait.precision import cast
sent, made, read, arm = pickle.loads(bytes.fromhex('{sent}'))
assert read(*sent) == read(*made()) == (3.0, 4.0, {{}})
assert cast(arm).drives["hold"].stiffness == 20.0
print(cloudpickle.dumps((*made(), arm)).hex())
"""
done = subprocess.run([sys.executable, "-c", there], capture_output=True, text=True, check=True)
back = cloudpickle.loads(bytes.fromhex(done.stdout))
print(*(type(one).__name__ for one in back), back == (*made(), arm))
'''


def test_models_of_a_script_keep_their_values_in_another_process():
    """There, all had the defaults of their classes, without a word."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "Wind Given TreeModel True", done.stderr[-500:]
