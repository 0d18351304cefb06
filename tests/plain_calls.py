"""A table of plain calls through every room, run by `test_precision` under both settings of JAX: results to a file."""

import sys

import jax
import numpy as np

from jaxgait import ensemble, simulate
from jaxgait.analysis import floquet, gait
from jaxgait.ensembles import cloud
from jaxgait.mechanics import contact, fourbar, friction, linalg, spatial
from jaxgait.models import bungee, creeper, exoskeleton, walker
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.creeper.chain import CreeperChain, SoftExtension
from jaxgait.models.creeper.inchworm import Inchworm
from jaxgait.models.creeper.model import Creeper
from jaxgait.models.exoskeleton import dynamics
from jaxgait.models.exoskeleton.model import Exoskeleton
from jaxgait.models.jumper import measures as jumper
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.robot import JumpingRobot
from jaxgait.models.jumper.spatial import SpatialJumper
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.models.walker.rigid import RigidWalker, RollingWalker
from jaxgait.models.walker.smooth import Walker
from jaxgait.motion.drive import reference_gait
from jaxgait.solve.smooth import Smooth, integrate
from jaxgait.solve.time_stepping import march

MODELS = [Bungee(), Creeper(), Exoskeleton(), Prosthesis(), Walker()]
SLOW_MODELS = [Inchworm(), Jumper(), JumpingRobot(), SoftExtension(), SpatialJumper()]
KNEE, ROLLING, RIGID, CREEPER, EXO = Prosthesis(), RollingWalker(), RigidWalker(), Creeper(), Exoskeleton()
MATRIX = [[2.0, 0.3], [0.3, 1.0 / 3.0]]
CURVE = np.sin(np.linspace(0.0, 12.0, 300)) + 0.1


def of(model):
    """What every model gives: where it starts, how it moves there, what can be observed there."""
    y = model.initial_state()
    return y, model.vector_field(0.01, y), model.outputs(0.01, y), model.duration, model.period


def tree():
    link = spatial.Link("body", parent=None, joint=spatial.free(), mass=1.1, com=(0.1, 0.2, 0.3), inertia=np.eye(3) / 7)
    return spatial.Tree.build(link)


def turning():
    q, v = np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5]), np.linspace(0.1, 0.6, 6)
    motion = spatial.kinematics(tree(), q, v)
    return motion, spatial.forward_dynamics(tree(), motion, v), spatial.mass_matrix(tree(), motion)


def chain():
    motion = EXO.motion(0.1)
    chain = EXO.chain
    return chain.W, chain.rho, chain.total_mass, dynamics.inverse_dynamics(chain, *motion)


def jump():
    times = np.linspace(0.0, 1.0, 101)
    names = ("com_x", "com_z", "com_vx", "com_vz", "grf_z", "angular_momentum", "pitch")
    run = {"time": times, "depth": 0.35 - times, **{name: np.cos(times + i) for i, name in enumerate(names)}}
    return jumper.assess(run, 70.0)


def scan():
    scan = ensemble(Bungee(), cloud(Bungee(), {"x": 1.0}, 4), duration=3.0, samples=4, trajectories=True)
    return scan["height"].values, scan["initial.x"].values


CALLS = {
    **{type(model).__name__: lambda model=model: of(model) for model in MODELS},
    "contact": lambda: contact.HuntCrossley(1e5, 0.3, 1e4).force(1e-3, 0.1),
    "friction": lambda: friction.Stribeck(0.8, 0.6, 0.05).force(0.1, 1.0)[0],
    "linalg": lambda: linalg.solve(MATRIX, [1.0, 1.0 / 3.0]),
    "fourbar": lambda: fourbar.psi_at(KNEE.linkage.bars, 0.5),
    "spatial": turning,
    "chain": chain,
    "drive": lambda: reference_gait().evaluate(0.3),
    "hip": lambda: KNEE.hip(0.3),
    "prescribed": lambda: EXO.prescribed(0.1),
    "drive force": lambda: CreeperChain().drive_force(0.1),
    "fluid": lambda: CREEPER.fluid_forces(0.1, 0.0, 0.01),
    "bungee": lambda: (bungee.clearance(Bungee()), bungee.lowest_point(Bungee())),
    "assess": jump,
    "rigid walker": lambda: (RIGID.initial_state(), RIGID.kinetics(RIGID.initial_state())),
    "rolling walker": lambda: ROLLING.roll(0.0, ROLLING.initial_state()),
    "walk": lambda: simulate(RIGID, duration=0.3, samples=3)["impulse_1"].values,
    "floquet": lambda: floquet.floquet(np.array(MATRIX, np.float64)),
    "gait": lambda: (gait.correlation(CURVE[1:], CURVE[:-1]), gait.spectrum(CURVE, 3)),
    "integrate": lambda: integrate(Bungee(), np.linspace(0.0, 2.0, 3), Smooth.of(Bungee())),
    "simulate": lambda: simulate(Bungee(), duration=2.0, samples=4)["x"].values,
    "ensemble": scan,
}

SLOW_CALLS = {
    "peak load": lambda: creeper.peak_load(CREEPER),
    **{type(model).__name__: lambda model=model: of(model) for model in SLOW_MODELS},
    "step figures": lambda: exoskeleton.step_figures(EXO, samples=4),
    "rolling gait": lambda: walker.rolling_gait(ROLLING),
    "march": lambda: march(RIGID, 1e-4, 1, 500),
}
"""Their programs take long to trace and compile."""


def main(path, table):
    found = {}
    for name, call in {"quick": CALLS, "slow": SLOW_CALLS}[table].items():
        for i, leaf in enumerate(x for x in jax.tree.leaves(call()) if not callable(x)):
            found[f"{name} {i}"] = np.asarray(leaf)
    np.savez(path, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
