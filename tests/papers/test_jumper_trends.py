"""The jumper's trends, its derivatives and its run in single precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.jumper.expected import JUMP
from jaxgait import precision, simulate
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.measures import assess
from jaxgait.parameters import with_parameters
from jaxgait.solve.smooth import Smooth, integrate

MASS = 70.0
WEIGHT = MASS * 9.81
TS = np.linspace(0.0, 0.6, 601)
STEP = 1e-4  # s: of differences in a duration
LEGS = ("ankle", "knee", "hip", "shoulder", "elbow")


pytestmark = pytest.mark.slow  # (five jumps to compile; the default suite has those of test_jumper.py)


def slower(model, factor):
    """All swings take longer, and start later by the same factor."""
    changes = {}
    for name in LEGS:
        swing = getattr(model, name)
        changes |= {f"{name}.duration": factor * swing.duration, f"{name}.delay": factor * swing.delay}
    return with_parameters(model, changes)


@pytest.fixture(scope="module")
def jumps():
    """The default and its variants as one batch: figures, how far the toes slide, and derivatives in the knee's timing.

    Each entry is a pair: figures, and their derivatives with respect to the duration of the knee's swing.
    """
    default = Jumper()
    models = {
        "default": default,
        "slow": slower(default, 1.1),
        "still arms": with_parameters(default, {"shoulder.angle": 0.0, "elbow.angle": 0.0}),
        "slippery": with_parameters(default, {"sole.static_friction": 0.4, "sole.kinetic_friction": 0.3}),
        "knee later": with_parameters(default, {"knee.duration": 0.29 + STEP}),
        "knee sooner": with_parameters(default, {"knee.duration": 0.29 - STEP}),
    }
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(precision.cast(m) for m in models.values()))
    settings = Smooth.of(default, rtol=1e-9, atol=1e-10)

    def one(model):
        ts = jnp.asarray(TS)
        ys = integrate(model, ts, settings).ys
        run = jax.vmap(model.outputs)(ts, ys)
        pressed = run["depth"][:, -1] > 0.0
        slide = jnp.sum(jnp.where(pressed, jnp.abs(run["slip"][:, -1]), 0.0)) * (ts[1] - ts[0])
        jump = assess({"time": ts, **run, "pitch": ys.pitch}, MASS)
        return {**jump._asdict(), "slide": slide}

    def both(model):
        def of_duration(x):
            return one(with_parameters(model, {"knee.duration": x}))

        return jax.jvp(of_duration, (model.knee.duration,), (jnp.ones(()),))

    found = jax.jit(jax.vmap(both))(batch)
    return {name: tuple({k: float(v[i]) for k, v in part.items()} for part in found) for i, name in enumerate(models)}


def test_slower_swings_push_less_and_jump_lower(jumps):
    assert jumps["slow"][0]["peak_force"] < jumps["default"][0]["peak_force"] - 0.1
    assert jumps["slow"][0]["height"] < jumps["default"][0]["height"] - 0.01


def test_arms_that_do_not_swing_lower_the_take_off_speed(jumps):
    assert jumps["still arms"][0]["vz"] < jumps["default"][0]["vz"] - 0.05


def test_less_friction_lets_the_toes_slip_but_hardly_changes_the_height(jumps):
    assert jumps["slippery"][0]["slide"] > 2.0 * jumps["default"][0]["slide"]
    assert jumps["slippery"][0]["height"] == pytest.approx(jumps["default"][0]["height"], rel=0.03)


def test_height_is_differentiable_in_the_timing(jumps):
    """Forward mode through contact, take-off and interpolation against central differences, to 1e-4."""
    (value, slope), (later, _), (sooner, _) = (jumps[name] for name in ("default", "knee later", "knee sooner"))
    height = JUMP["height"]["sequenced"]
    assert value["height"] == pytest.approx(height.value, abs=height.tolerance)
    for name in ("height", "take_off", "angular_momentum"):
        assert slope[name] == pytest.approx((later[name] - sooner[name]) / (2.0 * STEP), rel=1e-4), name


def test_single_precision_agrees():
    """float32 (rtol 1e-5, where rounding is not yet felt) against the figures of float64: 0.1 % of each."""
    run = simulate(Jumper(), samples=600, precision="float32", rtol=1e-5, atol=1e-6)
    assert run.status == 0 and run.grf_z.dtype == np.float32
    with precision.use("float64"):
        histories = {str(k): x.values.astype(float) for k, x in run.variables.items() if "time" in x.dims}
        jump = assess(histories, MASS)
    for name in ("take_off", "z", "vz", "height", "peak_force"):
        expected = JUMP[name]["sequenced"].value
        assert float(getattr(jump, name)) == pytest.approx(expected, rel=2e-3 if name == "height" else 1e-3), name
    quiet = run.sel(time=slice(0.0, 0.1))
    assert float(np.abs(quiet.grf_z - WEIGHT).max()) < 1e-3 * WEIGHT
