"""The contents of films and the explorer: limbs with thickness, bodies, forces, paths, ground, curves.

A mechanism provides one function, `scene(model, run)`: the attribute `scene` of its class, as a method, as a function,
or as its name, "module:function", which is imported only to draw. Coordinates are those of a picture, (right, up) in m;
`seen` projects positions in space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float

from jaxgait import registry
from jaxgait.ensembles.results import missing_histories, over_time, rebuilt
from jaxgait.model import Model
from jaxgait.plot.jumps import instants
from jaxgait.plot.panels import distinct, scalar_histories
from jaxgait.plot.references import references, with_their_references
from jaxgait.plot.runs import while_moving
from jaxgait.plot.style import BLUE, EARTH, GREY, RED
from jaxgait.states import state_variables
from jaxgait.support.units import displayed

Points = Float[np.ndarray, "_ _ 2"]
"""(samples, points, (right, up)) in m; a single sample holds for the whole run."""
Path = Float[np.ndarray, "_ 2"]


MUCH = 0.25
"""Fraction of a film during which something is outside the view, above which to warn."""
MARGIN = 0.1
"""Margin around what a larger view should hold, as a fraction of it."""
OWN_CURVES = 3
"""Largest number of panels below a scene that brings no curves."""


class Limb(NamedTuple):
    """A chain of straight rods with round ends."""

    points: Points
    width: float
    """Thickness in m."""
    colour: str = BLUE
    opacity: float = 1.0


class Body(NamedTuple):
    """A filled outline."""

    outline: Points
    colour: str = BLUE
    opacity: float = 1.0
    edge: str = "black"


class ForceArrow(NamedTuple):
    """An arrow for a force."""

    at: Path
    force: Path
    """In N; for the length of the arrow see `Scene.newtons_per_metre`."""
    colour: str = RED


class Trail(NamedTuple):
    """The path of a point up to the present."""

    points: Path
    name: str
    colour: str = "black"


class Ground(NamedTuple):
    """A plane, which may be inclined."""

    height: float = 0.0
    """In m, at x = 0."""
    slope: float = 0.0
    """In rad, positive downward."""


class View(NamedTuple):
    """A window into the scene, fixed or moving."""

    centre: Path
    span: tuple[float, float]
    """Width and height in m."""
    title: str = ""


class Curve(NamedTuple):
    """A panel of histories below the scene, with a time cursor."""

    name: str
    unit: str
    values: Mapping[str, Float[np.ndarray, " samples"]]
    """By label, in drawing order."""
    measured: tuple[str, ...] = ()
    """Labels of measured curves, which are dashed."""


class Scene(NamedTuple):
    """Everything that is drawn for one run; the first shape is at the back."""

    time: Float[np.ndarray, " samples"]
    """In s."""
    shapes: tuple[Limb | Body, ...]
    views: tuple[View, ...]
    ground: Ground | None = None
    forces: tuple[ForceArrow, ...] = ()
    newtons_per_metre: float | None = None
    """Scale of the arrows; None: the longest is a quarter of the first view's height, rounded."""
    trails: tuple[Trail, ...] = ()
    curves: tuple[Curve, ...] = ()
    """Without any, the first few scalar histories of the run are shown, each in a panel."""
    readouts: Mapping[str, tuple[Float[np.ndarray, " samples"], str]] = {}
    """Numbers shown next to the time: name to values and unit."""
    legend: Mapping[str, str] = {}
    """Names of colours."""
    instants: Float[np.ndarray, " events"] = np.zeros(0)
    """Times in s at which curves may jump, and are not joined."""
    ended: str = "ended"
    """How the run ended, shown at an early end, and while a longer run next to it continues."""


def scene(run: xr.Dataset, model: Model | None = None) -> Scene:
    """The scene of a run of any mechanism that defines one.

    Args:
        run: result of `simulate`, or one member of an ensemble with trajectories.
        model: see `jaxgait.animate`.

    Raises:
        ValueError: for anything but one run over time, such as runs along a further dimension, for a run that lacks
            variables of the scene, for a mechanism without a scene, and if the attributes do not make the model.

    Examples:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxgait import Bungee
        >>> from jaxgait.plot.scene import scene
        >>> columns = {"x": [-30.0, 5.0], "height": [80.0, 45.0], "rope_force": [0.0, 100.0]}
        >>> run = xr.Dataset({k: ("time", x) for k, x in columns.items()}, {"time": [0.0, 3.0]})
        >>> shown = scene(run, Bungee())
        >>> print([curve.name for curve in shown.curves], shown.forces[0].force[-1])  # N, upward
        ['height', 'rope force'] [  0. 100.]
    """
    if isinstance(run, xr.Dataset):
        run = over_time(run)
    coords = run.coords if isinstance(run, xr.Dataset) else {}
    is_over_time = "time" in coords and coords["time"].dims == ("time",) and run.sizes["time"] > 1
    if not is_over_time or ("status" in run and run["status"].ndim):  # a scan has a status per member
        raise ValueError(
            "an animation shows one run over time: give a result of simulate, or one member of an ensemble with "
            "trajectories (data.isel(member=0)), or several by title ({'before': run, 'after': other})"
        )
    model = rebuilt(run) if model is None else model
    several = _along_further_dimensions(run, model)
    if several:
        raise ValueError(
            f"an animation shows one run over time, but there are {several[0]} runs along {several[1]}: "
            f"select one, data.isel({several[1]}=0)"
        )
    draws = getattr(type(model), "scene", "")  # of the class: a method is a function of the model and the run, too
    if not draws:
        raise ValueError(
            f"{type(model).__name__} has no scene to show: give its class a method scene(self, run) that returns a "
            "jaxgait.plot.scene.Scene; docs/own_mechanism.md has one"
        )
    try:
        whole = _until_the_end(run)
        found = (registry.load(draws) if isinstance(draws, str) else draws)(model, whole)
    except (AttributeError, KeyError) as error:
        if not (missing := missing_histories(model, run)):
            raise
        more = f" and {len(missing) - 3} more" * (len(missing) > 3)
        raise ValueError(
            f"an animation needs all states and outputs, but the run has no {', '.join(missing[:3])}{more}: keep all "
            "histories (trajectories=True), or simulate the member again (jaxgait.ensembles.again)"
        ) from error
    if not isinstance(found, Scene):
        raise TypeError(
            f"the scene of {type(model).__name__} must return a jaxgait.plot.scene.Scene, got {type(found).__name__}"
        )
    ended = str(run.attrs.get("status_text", found.ended)).removeprefix("ended early: ")
    own = tuple(c._replace(values={n: np.asarray(x) for n, x in c.values.items()}) for c in found.curves)  # of JAX, too
    curves = own or (_first_histories(whole) if len(found.time) == whole.sizes["time"] else ())
    ended = ended.partition(" (")[0]  # without its explanation
    return found._replace(ended=ended, curves=curves, instants=instants(whole))


def _first_histories(run: xr.Dataset) -> tuple[Curve, ...]:
    """The histories that `jaxgait.plot.histories.picture` draws first, with their measured references."""
    names, measured = with_their_references(run, scalar_histories(run))[:OWN_CURVES], references(run)
    run, curves = distinct(run, names), []
    for name in names:
        shown = displayed(while_moving(run[name]))
        reference = {measured[name]: displayed(run[measured[name]]).values} if name in measured else {}
        what, unit = (str(shown.attrs.get(key, usual)) for key, usual in (("long_name", name), ("units", "1")))
        curves.append(Curve(what, unit, {name: shown.values, **reference}, measured=tuple(reference)))
    return tuple(curves)


def _along_further_dimensions(run: xr.Dataset, model: Model) -> tuple[int, str] | None:
    """Number and dimension of several runs in one Dataset: all histories share it, but the model's states lack it."""
    histories = [set(x.dims) for x in run.data_vars.values() if "time" in x.dims]
    shared = sorted(map(str, set.intersection(*histories) - {"time"})) if histories else []
    if shared:
        states = {n: jnp.ndim(y) for n, y in state_variables(model.initial_state()).items() if n in run}
        if any(run[n].ndim > 1 + own for n, own in states.items()):
            return run.sizes[shared[0]], shared[0]
    return None


def cut_off(shown: Scene) -> str:
    """A sentence on shapes or ground outside the first view during much of the motion; empty if they are inside.

    Further views are close-ups, and shapes that do not move may extend beyond any.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import Ground, Limb, Scene, View, cut_off
        >>> leg = Limb(np.array(2 * [[[0.0, 1.0], [0.0, 0.0]]]), width=0.05)
        >>> at_the_hip = View(np.array([[0.0, 1.0]]), span=(2.0, 1.5))
        >>> cut_off(Scene(np.arange(2.0), (leg,), (at_the_hip,), Ground()))
        'shapes and the ground leave the view of 2 m x 1.5 m during 100 % of the film: one of 2 m x 2.2 m holds them'
    """
    view, samples = shown.views[0], len(shown.time)
    across, up = (np.broadcast_to(view.centre[:, i], samples) for i in (0, 1))
    reach, outside = np.array(view.span) / 2.0, dict[str, Any]()
    moving = [_points(s) - view.centre[:, None] for s in shown.shapes if len(_points(s)) == samples > 1]
    beyond = np.zeros((samples, 2))
    for shape in moving:
        low, high = np.fmin.reduce(shape, axis=1), np.fmax.reduce(shape, axis=1)
        one_side = (low < -reach) != (high > reach)  # what extends beyond both sides, such as a wall, is meant to
        beyond = np.fmax(beyond, np.where(one_side, np.fmax(-low, high), 0.0))
    outside["shapes"] = (beyond > (1.0 + MARGIN) * reach).any(axis=-1)  # less hardly shows
    reach = np.maximum(reach, beyond.max(axis=0))
    if shown.ground is not None:
        depth = up - (shown.ground.height - across * np.tan(shown.ground.slope))
        outside["the ground"] = depth > view.span[1] / 2.0
        reach[1] = max(reach[1], depth.max())
    often = {name: where.mean() for name, where in outside.items() if where.mean() > MUCH}
    if not often:
        return ""
    (width, height), (wide, tall) = view.span, 2.0 * reach * np.where(2.0 * reach > view.span, 1.0 + MARGIN, 1.0)
    return (
        f"{' and '.join(often)} leave the view of {width:.3g} m x {height:.3g} m during "
        f"{100.0 * max(often.values()):.0f} % of the film: one of {wide:.3g} m x {tall:.3g} m holds them"
    )


def _points(shape: Limb | Body) -> Points:
    return shape.points if isinstance(shape, Limb) else shape.outline


def _until_the_end(run: xr.Dataset) -> xr.Dataset:
    """The run without the empty samples after an early end."""
    sampled = [x.transpose("time", ...) for x in run.data_vars.values() if "time" in x.dims and x.dtype.kind == "f"]
    if not sampled:
        return run
    known = np.any([np.isfinite(x.values.reshape(x.shape[0], -1)).any(axis=1) for x in sampled], axis=0)
    return run.isel(time=slice(0, max(2, 1 + int(np.flatnonzero(known).max(initial=0)))))


def points(*columns: Any) -> Points:
    """Points of all samples from pairs of histories or fixed numbers: (samples, len(columns), 2).

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import points
        >>> height = np.array([1.0, 0.9, 1.0])
        >>> points((0.0, height), (0.0, 0.0)).shape
        (3, 2, 2)
    """
    numbers = np.broadcast_arrays(*(np.atleast_1d(x) for pair in columns for x in pair))
    return np.stack(numbers, axis=-1).reshape(-1, len(columns), 2)


def disc(centre: Path, radius: float, count: int = 24) -> Points:
    """Outline of a disc about a moving centre. Positions and radius in m.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import disc
        >>> print(disc(np.array([[2.0, 1.0]]), radius=1.0, count=4).round(6))
        [[[3. 1.]
          [2. 2.]
          [1. 1.]
          [2. 0.]]]
    """
    angle = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    return centre[:, None, :] + radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def tapered(a: Path, b: Path, wide: tuple[float, float]) -> Points:
    """Outline of a bar from a to b whose thickness in m changes from end to end.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import tapered
        >>> hip, knee = np.array([[0.0, 1.0]]), np.array([[0.0, 0.5]])
        >>> print(tapered(hip, knee, (0.2, 0.1))[0])
        [[ 0.1   1.  ]
         [ 0.05  0.5 ]
         [-0.05  0.5 ]
         [-0.1   1.  ]]
    """
    along = (b - a) / np.linalg.norm(b - a, axis=-1, keepdims=True)
    across = 0.5 * np.stack([-along[..., 1], along[..., 0]], axis=-1)
    return np.stack([a + wide[0] * across, b + wide[1] * across, b - wide[1] * across, a - wide[0] * across], axis=-2)


def rod(a: Path, b: Path) -> Points:
    """A straight line between two moving points.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import rod
        >>> hip, foot = np.array([[0.0, 0.9], [0.1, 0.9]]), np.array([[0.3, 0.0]])
        >>> rod(hip, foot).shape
        (2, 2, 2)
    """
    return np.stack(np.broadcast_arrays(a, b), axis=-2)


def seen(positions: Float[np.ndarray, "*axes 3"], azimuth: float, elevation: float) -> Float[np.ndarray, "*axes 2"]:
    """Projects positions (forward, left, up) for a distant observer, (right, up).

    Args:
        positions: in m.
        azimuth: of the observer in rad, from the right side (0: forward points to the right) towards the front.
        elevation: of the observer above the horizon, in rad.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import seen
        >>> forward, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
        >>> print(seen(np.stack([forward, up]), azimuth=0.0, elevation=0.0))
        [[1. 0.]
         [0. 1.]]
    """
    x, y, z = np.moveaxis(np.asarray(positions), -1, 0)
    across = x * np.cos(azimuth) + y * np.sin(azimuth)
    depth = -x * np.sin(azimuth) + y * np.cos(azimuth)
    return np.stack([across, z * np.cos(elevation) + depth * np.sin(elevation)], axis=-1)


def levelled(vectors: Float[np.ndarray, "*axes d"], slope: float) -> Float[np.ndarray, "*axes d"]:
    """Positions in m or forces in N, in 2-D or 3-D, from axes that fall forward by `slope` in rad to level ones.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import levelled
        >>> print(levelled(np.array([2.0, 0.0, 0.0]), np.pi / 6).round(3))  # 2 m down the slope
        [ 1.732  0.    -1.   ]
    """
    x, *aside, z = np.moveaxis(np.asarray(vectors), -1, 0)
    return np.stack([x * np.cos(slope) + z * np.sin(slope), *aside, z * np.cos(slope) - x * np.sin(slope)], axis=-1)


def floor(
    low: tuple[float, float], high: tuple[float, float], azimuth: float, elevation: float, slope: float = 0.0
) -> Body:
    """The ground between two corners (forward, left) in m, as `seen`; it falls forward by `slope` in rad.

    Examples:
        >>> from jaxgait.plot.scene import floor
        >>> floor((-1.0, -0.5), (1.0, 0.5), azimuth=0.3, elevation=0.2).outline.shape
        (1, 4, 2)
    """
    (back, right), (front, left) = low, high
    corners = [(back, left, 0.0), (front, left, 0.0), (front, right, 0.0), (back, right, 0.0)]
    return Body(seen(levelled(np.array([corners]), slope), azimuth, elevation), EARTH, edge="none")


def ghost(positions: Points, width: float) -> Limb:
    """A measured limb shown behind a simulated one; positions and width in m.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import ghost
        >>> limb = ghost(np.array([[[0.0, 0.9], [0.1, 0.5]]]), width=0.05)
        >>> print(limb.colour, limb.opacity)
        #7F7F7F 0.35
    """
    return Limb(positions, width, GREY, 0.35)


def histories(shown: Scene) -> xr.Dataset:
    """The curves of a scene over time, each with the name and the unit of its panel.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import Curve, Scene, histories
        >>> rope = Curve("rope", "N", {"tension": np.array([0.0, 900.0])})
        >>> found = histories(Scene(np.array([0.0, 3.0]), (), (), curves=(rope,)))
        >>> print(found.tension.values, found.tension.attrs)
        [  0. 900.] {'long_name': 'rope', 'units': 'N'}
    """
    labels = [label for curve in shown.curves for label in curve.values]
    found = {
        label if labels.count(label) == 1 else f"{curve.name}, {label}": (
            "time",
            values,
            {"long_name": curve.name, "units": curve.unit},
        )
        for curve in shown.curves
        for label, values in curve.values.items()
    }
    return xr.Dataset(found, {"time": shown.time})


def arrow_scale(shown: Scene) -> float:
    """Rounded scale of the arrows in N/m, such that the longest has at most a quarter of the view's height.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import ForceArrow, Scene, View, arrow_scale
        >>> weight = ForceArrow(at=np.zeros((1, 2)), force=np.array([[0.0, 700.0]]))
        >>> view = View(centre=np.zeros((1, 2)), span=(4.0, 3.0))
        >>> arrow_scale(Scene(np.zeros(1), (), (view,), forces=(weight,)))  # 0.7 m long
        1000.0
    """
    largest = largest_force(shown)
    return 1.0 / rounded(shown.views[0].span[1] / (4.0 * largest)) if largest > 0.0 else 1.0


def largest_force(shown: Scene) -> float:
    """The largest force of all arrows of a scene, in N; zero if there are none.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import Scene, View, largest_force
        >>> largest_force(Scene(np.zeros(1), (), (View(np.zeros((1, 2)), (4.0, 3.0)),)))
        0.0
    """
    sizes = [np.linalg.norm(force.force, axis=-1) for force in shown.forces]
    return max((float(np.nanmax(s)) for s in sizes if np.isfinite(s).any()), default=0.0)


def rounded(x: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten up to x.

    Examples:
        >>> from jaxgait.plot.scene import rounded
        >>> print(rounded(0.7), rounded(20.0))
        0.5 20.0
    """
    power = 10.0 ** np.floor(np.log10(x))
    return float(next(m for m in (5.0, 2.0, 1.0) if m * power <= x * (1.0 + 1e-9)) * power)


def alike(scenes: Sequence[Scene]) -> list[Scene]:
    """Scenes of one mechanism with the same size of each view, and the same scale of their arrows.

    Fixed views all show the same region.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import Scene, View, alike
        >>> near, far = (View(np.array([[x, 0.0]]), span=(2.0 * x, 2.0)) for x in (1.0, 2.0))
        >>> print([one.views[0].span for one in alike([Scene(np.zeros(1), (), (v,)) for v in (near, far)])])
        [(4.0, 2.0), (4.0, 2.0)]
    """
    views = [_same_size(same) for same in zip(*(one.views for one in scenes), strict=True)]
    seen_alike = [one._replace(views=own) for one, own in zip(scenes, zip(*views, strict=True), strict=True)]
    scale = max((one.newtons_per_metre or arrow_scale(one) for one in seen_alike if largest_force(one)), default=None)
    return [one._replace(newtons_per_metre=scale) for one in seen_alike]


def _same_size(views: Sequence[View]) -> list[View]:
    spans, centres = np.array([v.span for v in views]), [v.centre for v in views]
    if any(len(c) > 1 for c in centres):
        return [v._replace(span=tuple(spans.max(axis=0).tolist())) for v in views]
    middles = np.concatenate(centres)
    low, high = (middles - spans / 2.0).min(axis=0), (middles + spans / 2.0).max(axis=0)
    return [v._replace(centre=(low + high)[None] / 2.0, span=tuple((high - low).tolist())) for v in views]
