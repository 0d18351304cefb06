"""What a scan is, as a dict of plain values: two scans with the same fingerprint have the same results."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import precision as precisions
from jaxgait.ensembles.members import Members
from jaxgait.ensembles.plan import Plan
from jaxgait.model import Model
from jaxgait.parameters import parameters, with_parameters
from jaxgait.run import Extremes, Run, Trajectory
from jaxgait.solve.integrate import Settings


def fingerprint(plan: Plan) -> dict[str, Any]:
    """Everything that decides the results of a plan, each under a name that people understand."""
    return {
        "model": type(plan.model).__name__,
        **{f"parameter {name}": _plain(info.value) for name, info in parameters(plan.model).items()},
        "other data of the model": _leaves(with_parameters(plan.model, dict.fromkeys(parameters(plan.model), 0.0))),
        **_equations(plan),
        **_members(plan.members),
        **_settings(plan.job.settings),
        "strides": plan.job.sampling.strides,
        "duration": plan.job.sampling.duration,
        "samples": plan.job.sampling.samples,
        "trajectories": plan.job.trajectories,
        "gradient": list(plan.job.gradient),
        "precision": plan.precision,
        "retries": [rung.name for rung in plan.rungs],
        "results": {n: [list(s.shape), s.dtype.name] for n, s in sorted(plan.results.items())},
        "blocks": list(plan.block_shape),
    }


def differences(stored: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """What differs between two fingerprints, one sentence for each."""
    missing = "(nothing)"
    names = [*stored, *(n for n in wanted if n not in stored)]
    pairs = ((n, stored.get(n, missing), wanted.get(n, missing)) for n in names)
    found = {name: f"{name}: {a} in the store, {b} now" for name, a, b in pairs if a != b}
    if len(found) > 1:
        found.pop("order of the members", None)  # follows from the rest
    return list(found.values())


def _members(members: Members) -> dict[str, Any]:
    values = {name: _range(x) for name, x in members.values.items()}
    labels = {f"axis {name}": _range(x) for name, (_, x) in members.labels.items() if name not in values}
    return {
        "dimensions": dict(zip(members.dims, members.shape, strict=True)),
        **{f"values of {name}": x for name, x in values.items()},
        **labels,
        "order of the members": _digest(*(np.ascontiguousarray(x).tobytes() for x in members.values.values())),
    }


def _settings(settings: Settings) -> dict[str, Any]:
    fields = ("rtol", "atol", "first_step", "max_step", "max_steps", "mode")
    return {"solver": _text(settings.solver), **{name: getattr(settings, name) for name in fields}}


def _equations(plan: Plan) -> dict[str, str]:
    """The model's code and the observables' as jax sees them: a changed formula is a changed scan."""
    job = plan.job
    with precisions.use(plan.precision):
        model = precisions.cast(plan.model)
        t, y0 = jnp.asarray(0.0), jax.eval_shape(model.initial_state)
        ts = jax.eval_shape(lambda: job.sampling.times(model))
        conditions = model.terminations()
        laws = [
            _program(model, lambda m: m.initial_state()),
            _program(model, lambda m, t, y: m.vector_field(t, y), t, y0),
            _program(model, lambda m, t, y: m.outputs(t, y), t, y0),
            _program(model, lambda m, t, y: [c(t, y) for c in m.terminations().values()], t, y0),
        ]
        observe = job.observe
        history = _history(ts, y0, getattr(observe, "watch", ()))
        look = lambda m, h: {} if observe is None else dict(observe(Run(m, h, job.sampling)))
        observed = "" if observe is None else _program(model, look, history)
        early = sorted(getattr(observe, "early", ()))
    return {"equations": _digest(*conditions, *laws), "observe": _digest(observed, *early)}


def _program(model: Model, function: Callable[..., Any], *arguments: Any) -> str:
    """A function of the model as text; the model's numbers are its inputs and do not show."""
    numbers, rest = eqx.partition(model, eqx.is_array)
    jaxpr = jax.make_jaxpr(lambda n, *a: function(eqx.combine(n, rest), *a))(numbers, *arguments)
    return _text(jaxpr) + "".join(_digest(np.asarray(c).tobytes()) for c in jaxpr.consts)


def _history(ts: Any, y0: Any, watched: tuple[str, ...]) -> Trajectory:
    """The shapes of a trajectory, without integrating one."""
    ys = jax.tree.map(lambda y: jax.ShapeDtypeStruct((*ts.shape, *y.shape), y.dtype), y0)
    number: Any = jax.ShapeDtypeStruct((), jnp.int32)
    t_end: Any = jax.ShapeDtypeStruct((), ts.dtype)
    return Trajectory(ts, ys, number, t_end, y0, number, number, {n: Extremes(t_end, t_end) for n in watched})


def _leaves(tree: Any) -> str:
    leaves = jax.tree.leaves(tree)
    return _digest(*(np.asarray(x).tobytes() if isinstance(x, np.ndarray | jax.Array) else _text(x) for x in leaves))


def _range(x: np.ndarray) -> str:
    """The values in words, whatever their order: those of one axis are the same when another axis changes."""
    values = np.unique(x)
    return f"{values.size} values from {values[0]:g} to {values[-1]:g} ({_digest(values.tobytes())})"


def _plain(value: Any) -> Any:
    return jax.tree.map(lambda x: np.asarray(x).tolist(), value)


def _text(x: Any) -> str:
    """Text without memory addresses, which differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+|0x[0-9a-f]+", "", repr(x) if not hasattr(x, "jaxpr") else str(x))


def _digest(*parts: str | bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode() if isinstance(part, str) else part)
        whole.update(b"\0")
    return whole.hexdigest()[:16]
