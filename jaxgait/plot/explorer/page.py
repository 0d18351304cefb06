"""The explorer page: its contents, writing it to a file, and displaying it in a notebook."""

from __future__ import annotations

import base64
import functools
import gzip
import html
import importlib.resources
import importlib.util
import math
import os
import pathlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from jaxgait.ensembles.agreement import CAUSES
from jaxgait.ensembles.recipe import Recipe, run_recipe, scan_recipe
from jaxgait.ensembles.results import is_run, open_result
from jaxgait.model import Model
from jaxgait.parameters import parameters
from jaxgait.plot.explorer.lines import lines
from jaxgait.plot.explorer.playback import Pack, history_labels, measured_histories, one_run, playback, samples_to_play
from jaxgait.plot.explorer.selection import extremes, one_of_each_status, spread
from jaxgait.plot.film import usual_pace
from jaxgait.plot.scale import boundaries, colours, texts
from jaxgait.plot.scene import scene
from jaxgait.plot.table import Column, Table, table
from jaxgait.states import state_variables
from jaxgait.support import checks, files
from jaxgait.support.checks import by_name, warn_user
from jaxgait.support.notes import note

STATUS = "status"
"""Colours members by how they ended."""
ANIMATED_MEMBERS = 32
"""Default number of members whose motion is in a page."""
MAX_LISTED = 100_000
"""Largest number of members that a page lists; of more, every n-th value of a grid, or a random sample."""
FEW = 8
"""Range of whole numbers below which Plotly would put ticks between them."""
MARK = '<meta name="generator" content="jaxgait explorer">'
"""Identifies pages of the explorer."""
PAGE_HEIGHT = 1180
"""Initial height of the page inside a notebook, in pixels."""
NOT_TRUSTED = (
    "The explorer is not shown: this notebook is not trusted, or this viewer does not support frames. Trust the "
    "notebook (in JupyterLab: View, Activate Command Palette, Trust Notebook) or run the cell again; "
    "page.save('page.html') writes it to a file."
)
"""Shown where frames are removed."""


@dataclass(frozen=True, eq=False, repr=False)
class Explorer:
    """A page about a scan or a run, for notebooks and files."""

    rows: Table | None
    """All members; None for a single run."""
    recipe: Recipe | None
    """How to rerun members; None if unknown."""
    runs: dict[int, xr.Dataset]
    """Runs of the members whose motion is in the page, by number.

    Those of scans are in the form of `simulate`, with the names of the events, but without the states before and after.
    """
    header: dict[str, Any]
    """The other contents of the page."""

    @property
    def html(self) -> str:
        """The whole page.

        Raises:
            ModuleNotFoundError: if Plotly is missing, with what to install.
        """
        page = _resource("page.html").replace("{{title}}", html.escape(self.header["title"]))
        for name in ("page.css", "frame.js", "pack.js", "film.js", "map.js", "charts.js", "page.js"):
            page = page.replace("{{" + name + "}}", _resource(name))
        page = page.replace("{{library}}", _library())
        return page.replace("{{data}}", base64.b64encode(self.packed()).decode())

    def packed(self) -> bytes:
        """Members and motions in the page's format (see `jaxgait.plot.explorer.playback.Pack`)."""
        pack = Pack()
        header = self.header | _listed(pack, self.rows, self.recipe, [*self.runs, self.header["first"]])
        films = {m: self._film(pack, m, run) for m, run in self.runs.items()}
        header["films"] = [[m, film] for m, film in films.items()]
        header["speed"] = min(4.0, max(1 / 16, usual_pace(max((f["seconds"] for f in films.values()), default=1.0))))
        return pack.packed(header)

    def motion(self, member: int) -> bytes:
        """The motion of one member, by its number, in the page's format; simulated unless it is in the page.

        Raises:
            ValueError: if it is unknown how to rerun members.
        """
        if self.recipe is None:
            raise ValueError(self.header["why"])
        pack, kept = Pack(), self.runs.get(member)
        return pack.packed({"film": self._film(pack, member, self.recipe.run(member) if kept is None else kept)})

    def _film(self, pack: Pack, member: int, run: xr.Dataset) -> dict[str, Any]:
        assert self.recipe is not None  # otherwise there are no runs
        return playback(pack, run, self.recipe.member_model(member))

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the page and returns its path.

        Raises:
            ValueError: for another extension than .html.
            ModuleNotFoundError: if Plotly is missing, with what to install.
        """
        path = files.local(path)
        if path.suffix.lower() != ".html":
            raise ValueError(f"cannot write {path}: the name of a page must end in .html")
        page = self.html
        files.text(files.in_its_folder(path), page)
        return path

    def __repr__(self) -> str:
        return f"<Explorer of {self.header['title']}; {len(self.runs)} in motion>"

    def _repr_html_(self) -> str:
        source, style = html.escape(self.html), f"width:100%;height:{PAGE_HEIGHT}px;border:0"
        return f'<iframe srcdoc="{source}" style="{style}" allow="clipboard-write">{NOT_TRUSTED}</iframe>'


@by_name('write explore(scan).save("page.html")')
def explore(
    scan: xr.Dataset | str | os.PathLike[str],
    *,
    model: Model | None = None,
    measure: str | None = None,
    members: int = ANIMATED_MEMBERS,
    say: Callable[[str], None] = note,
) -> Explorer:
    """A page that shows a scan: a map of its members, their statuses and numbers, and the motion of chosen ones.

    The motions are those of the members with the largest and the smallest measure, of one member of each status, of the
    one nearest to the model's own parameters (the reference), and of others spread evenly over the box. If the scan did
    not keep what the scene reads, they are simulated now, as one small ensemble. The page marks these members, and
    gives for every member the lines that simulate it.

        explore("scan.nc", measure="rho").save("scan.html")

    Args:
        scan: a result of `ensemble` (even a store still being written) or `simulate`, or its file.
        model: the mechanism; None: made from the attributes of the scan.
        measure: colours the map and decides which members are extreme; by default the objective of the model's own
            search, otherwise the first measure; "status" colours by how the members ended.
        members: largest number of members that play.
        say: called with messages about what is simulated, or why nothing plays; by default notes on a terminal.

    Raises:
        FileNotFoundError: for a missing file.
        TypeError: for anything but a result or its file.
        ValueError: for something other than a scan or a run, a scan without members, an unknown measure, and a run of
            a mechanism without a scene.

    Warns:
        UserWarning: if members that are simulated do not end as the scan states.
    """
    checks.count("members", members, least=0)
    if not isinstance(scan, xr.Dataset | str | os.PathLike):
        raise TypeError(f"explore shows a result of ensemble or simulate, or its file, got {type(scan).__name__}")
    data = open_result(scan)
    if is_run(data):
        if measure is not None:
            raise ValueError(f"measure colours the members of a scan, and this is one run: got {measure!r}")
        return _of_run(data, model)
    rows = table(data)
    recipe, why = _recipe(data, model)
    if recipe is not None and not getattr(recipe.model, "scene", ""):
        why = f"{type(recipe.model).__name__} has no scene to show (see jaxgait.plot.scene): numbers and commands only."
    own = {} if recipe is None else recipe.model.search
    chosen = _measure(rows, None if measure == STATUS else measure, own)
    reference = None if recipe is None else _nearest(rows, recipe)
    wanted = [] if recipe is None or why else _wanted(rows, recipe, chosen, reference, members)
    kept = _kept(data, recipe, wanted) if recipe is not None and wanted else {}
    recipe = _playable(recipe) if recipe is not None and not kept else recipe
    message = f"simulating {len(wanted)} of {rows.size} members for playback" if kept is None else why
    if message:
        say(message)
    runs = _by_number(recipe.runs(wanted), wanted) if recipe is not None and kept is None else kept or {}
    runs = {m: run.assign_attrs(status_text=rows.statuses[int(rows.status[m])][0]) for m, run in runs.items()}
    notes = _notes(rows, chosen, chosen in (own.get("maximize"), own.get("minimize")), runs, reference, why)
    if other := _otherwise(recipe, runs):
        notes.append(other)
        warn_user(other)
    header = _header(data, rows, chosen) | {"notes": notes, "why": why, "serve": False}
    header |= {"colour": STATUS} if measure == STATUS else {}
    if recipe is not None:
        header |= {"lines": [lines(recipe, n) for n in range(len(recipe.retries) + 1)]}
    header |= {
        "reference": reference if reference in runs else None,
        "first": _best(rows, chosen, list(runs) or list(range(rows.size)), least=chosen == own.get("minimize")),
    }
    return Explorer(rows, recipe, runs, header | _histories(runs, recipe))


def is_page(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a page of the explorer."""
    with open(path, "rb") as file:
        return MARK.encode() in file.read(1000)


def _of_run(run: xr.Dataset, model: Model | None) -> Explorer:
    recipe = run_recipe(run, model)
    empty = {"size": 1, "dims": [], "shape": [], "x": "", "y": "", "colour": STATUS, "reference": None, "first": 0}
    title = f"{type(recipe.model).__name__}: {run.attrs.get('status_text', 'one run')}"
    header = {"title": title, "about": _about(run), "model": type(recipe.model).__name__, "why": "", "serve": False}
    header |= empty | {"notes": [], "lines": [lines(recipe)]}
    return Explorer(None, recipe, {0: run}, header | _histories({0: run}, recipe))


def _recipe(scan: xr.Dataset, model: Model | None) -> tuple[Recipe | None, str]:
    if model is None and "model" not in scan.attrs:
        return None, "No member can be played: the result does not name its model; use explore(scan, model=...)."
    try:
        return scan_recipe(scan, model), ""
    except ValueError as error:
        return None, f"No member can be played: {error}."


def _playable(recipe: Recipe) -> Recipe:
    """The recipe with enough samples for a film: a scan of measures may have only a start and an end."""
    own = recipe.options.get("samples")
    more = {} if own is None else {"samples": samples_to_play(own, recipe.options.get("strides"))}
    return replace(recipe, options=recipe.options | more)


def _measure(rows: Table, name: str | None, search: Mapping[str, Any]) -> str | None:
    if name is not None and name not in rows.columns:
        known = ", ".join(c.name for c in rows.of_role("measure"))
        raise ValueError(f"no measure {name!r}: the scan has {known or 'none'}")
    measures = [c.name for c in rows.of_role("measure") if np.isfinite(c.values[rows.completed]).any()]
    objective = next((search[sense] for sense in ("maximize", "minimize") if search.get(sense) in measures), None)
    return name or objective or next(iter(measures), None)


def _wanted(rows: Table, recipe: Recipe, measure: str | None, reference: int | None, count: int) -> list[int]:
    """The members to play, the reference first."""
    found = spread(rows, count, measure)
    return ([] if reference is None else [reference, *(m for m in found if m != reference)])[:count] or found


def _nearest(rows: Table, recipe: Recipe) -> int | None:
    """The completed member nearest to the model's own values, relative to the scanned ranges."""
    known = {n: p.value for n, p in parameters(recipe.model).items()}
    known |= {f"initial.{n}": x for n, x in state_variables(recipe.model.initial_state()).items()}
    away = np.where(rows.completed, 0.0, np.inf)
    for name, values in recipe.values.items():
        if values.ndim == 1 and name in known:  # not of the motion
            away += ((values - float(np.asarray(known[name]))) / (np.ptp(values) or 1.0)) ** 2
    return int(np.argmin(away)) if np.isfinite(away).any() else None


def _kept(scan: xr.Dataset, recipe: Recipe, members: list[int]) -> dict[int, xr.Dataset] | None:
    """Trajectories of members as the scan has them; None if it lacks histories that the scene reads."""
    if not {"time", "instant"} & {*scan.dims}:
        return None
    index = np.unravel_index(members, recipe.shape)
    at = {d: xr.DataArray(i, dims="member") for d, i in zip(recipe.dims, index, strict=True)}
    found = scan[[n for n, x in scan.data_vars.items() if set(recipe.dims) <= set(x.dims)]].isel(at).load()
    runs = _by_number(found, members)
    try:
        scene(runs[members[0]], recipe.member_model(members[0]))
    except ValueError:
        return None
    return runs


def _by_number(found: xr.Dataset, members: list[int]) -> dict[int, xr.Dataset]:
    return {m: one_run(found, i) for i, m in enumerate(members)}


def _otherwise(recipe: Recipe | None, runs: Mapping[int, xr.Dataset]) -> str:
    """A message about runs that do not end as the scan states; empty if all do."""
    found = {} if recipe is None else {m: text for m, run in runs.items() if (text := recipe.disagreement(m, run))}
    if not found:
        return ""
    first = next(iter(found))
    which = f"{len(found)} of {checks.count_of(len(runs), 'motion does', 'motions do')}"
    return f"{which} not end as in the scan, such as that of member {first}: {found[first]}; {CAUSES}."


def _best(rows: Table, measure: str | None, members: list[int], *, least: bool) -> int:
    """The member that the page opens with: the one with the largest (or least) value of the measure."""
    values = rows.columns[measure].values[members] if measure else np.full(len(members), np.nan)
    values = np.where(rows.completed[members], -values if least else values, np.nan)
    return members[int(np.nanargmax(values))] if np.isfinite(values).any() else members[0]


def _histories(runs: Mapping[int, xr.Dataset], recipe: Recipe | None) -> dict[str, Any]:
    if not runs or recipe is None:
        return {"labels": {}, "references": {}, "phase": ["", ""]}
    first = next(iter(runs.values()))
    labels = history_labels(first)
    names = [n for n in state_variables(recipe.model.initial_state()) if n in labels]
    return {"labels": labels, "references": measured_histories(first), "phase": list(phase_plane(labels, names))}


def phase_plane(labels: Mapping[str, list[str]], names: list[str]) -> tuple[str, str]:
    """A coordinate and its rate: the first angle (otherwise the first coordinate) that has one."""
    units = {n: labels[n][1] for n in labels}
    for name in sorted(names, key=lambda n: units[n] != "deg"):
        rates = [n for n in names if n != name and units[n] == f"{units[name]}/s"]
        alike = [n for n in names if units[n] == units[name]]
        if rates and units[name]:
            return name, rates[min(alike.index(name), len(rates) - 1)]
    listed = [*names, *(n for n in labels if n not in names)] or [""]
    return listed[0], listed[min(1, len(listed) - 1)]


def _header(scan: xr.Dataset, rows: Table, measure: str | None) -> dict[str, Any]:
    model = str(scan.attrs.get("model", "scan"))
    x, y = _plane(rows, measure)
    title = f"{model}: {checks.count_of(rows.size, 'member', 'members')} over {', '.join(rows.along)}"
    return {
        "title": title, "about": _about(scan), "model": model, "size": rows.size, "dims": list(rows.dims),
        "shape": list(rows.shape), "x": x, "y": y, "colour": measure or STATUS,
    }  # fmt: skip


def _plane(rows: Table, measure: str | None) -> tuple[str, str]:
    """The axes of the map: the dimensions in the order of the scan, the measure over a single one."""
    along = rows.along
    others = [n for n in (*along[1:], measure, *rows.columns) if n and n != along[0]]
    return along[0], next(iter(others), along[0])


def _about(data: xr.Dataset) -> str:
    attrs = data.attrs
    facts = [
        checks.count_of(attrs["strides"], "stride", "strides") if "strides" in attrs else "",
        f"{attrs['duration_s']:g} s" if "duration_s" in attrs else "",
        f"{attrs['scheme']}" + (f" with {attrs['solver']}" if "solver" in attrs else "") if "scheme" in attrs else "",
        str(attrs.get("precision", "")),
        f"jaxgait {attrs['jaxgait']}" if "jaxgait" in attrs else "",
        f"run on {str(attrs['created'])[:10]}" if "created" in attrs else "",
    ]
    return ", ".join(filter(None, facts))


def _notes(
    rows: Table, measure: str | None, sought: bool, runs: Mapping[int, Any], reference: int | None, why: str
) -> list[str]:
    """The page's messages about itself: why nothing plays, and for which reasons members were chosen (`_wanted`)."""
    notes = [why] if why else []
    if runs and len(runs) < rows.size:
        ends = "the best and the worst by" if sought else "those with the largest and the smallest"
        reasons = [
            ("the completed one nearest to the model's own parameters (the reference, a star)", [reference]),
            (f"{ends} {measure}", extremes(rows, measure)),
            ("one of each status", one_of_each_status(rows)),
        ]
        met = [(text, members) for text, members in reasons if members and {*members} <= runs.keys()]
        named = {m for _, members in met for m in members}
        given = [text for text, _ in met] + ["others spread evenly over the scan"] * bool(runs.keys() - named)
        notes.append(
            f"This page contains the motions of {len(runs)} of {rows.size} members, ringed on the map: "
            f"{', and '.join(filter(None, [', '.join(given[:-1]), given[-1]]))}. For every other member it shows the "
            "values, and the commands that simulate it."
        )
    elif runs:
        notes.append("This page contains the motions of all members.")
    return notes


def _listed(pack: Pack, rows: Table | None, recipe: Recipe | None, played: list[int]) -> dict[str, Any]:
    if rows is None:
        statuses = [["run", "#56B4E9", 1]]
        return {"columns": [], "status": pack.bytes([0]), "statuses": statuses, "completed": [0], "vectors": [],
                "gradients": {}, "own": {}, "thinned": False} | _own(pack, recipe, np.array([0]))  # fmt: skip
    shown, sampled = _sample(rows)
    whole, shown = len(shown), np.append(shown, np.setdiff1d(np.array(played, dtype=int), shown))
    completed = sorted({int(s) for s in rows.status[rows.completed]})
    found = {
        "columns": [_column(pack, c, rows, shown) for c in rows.columns.values()],
        "status": pack.bytes(rows.status[shown]),
        "statuses": [[*s, int((rows.status == i).sum())] for i, s in enumerate(rows.statuses)],
        "completed": completed,
        "vectors": [_column(pack, c, rows, shown) for c in rows.vectors.values()],
        "gradients": {m: {p: pack.doubles(x[shown]) for p, x in g.items()} for m, g in rows.gradients.items()},
        "thinned": len(shown) < rows.size, "whole": whole, "sampled": sampled,
    }  # fmt: skip
    if found["thinned"]:
        found["ids"] = pack.doubles(shown)
    return found | _own(pack, recipe, shown)


def _own(pack: Pack, recipe: Recipe | None, shown: np.ndarray) -> dict[str, Any]:
    if recipe is None:
        return {"own": {}}
    own = {n: pack.doubles(x[shown]) for n, x in recipe.values.items() if x.ndim == 1}
    return {"own": own, "retried": pack.bytes(recipe.retried[shown])}


def _sample(rows: Table) -> tuple[np.ndarray, str]:
    """The members to list, and a sentence about them unless they are all.

    Of a grid, whole rows and columns are left out: members missing at random would look like members without a value.
    """
    if rows.size <= MAX_LISTED:
        return np.arange(rows.size), ""
    if not {*rows.dims} <= rows.columns.keys():
        drawn = np.random.default_rng(0).choice(rows.size, MAX_LISTED, replace=False)
        return np.sort(drawn), f"a random sample of {MAX_LISTED} of {rows.size} members"
    every = [1] * len(rows.shape)
    kept = lambda: [-(-n // k) for n, k in zip(rows.shape, every, strict=True)]
    while math.prod(kept()) > MAX_LISTED:
        every[int(np.argmax(kept()))] += 1
    index = np.ix_(*(np.arange(0, n, k) for n, k in zip(rows.shape, every, strict=True)))
    left = ", ".join(f"1 in {k} values of {d}" for d, k in zip(rows.dims, every, strict=True) if k > 1)
    found = np.ravel_multi_index(index, rows.shape).ravel()
    return found, f"{left}: {found.size} of {rows.size} members"


def _column(pack: Pack, column: Column, rows: Table, shown: np.ndarray) -> dict[str, Any]:
    dim = rows.dims.index(column.name) if column.role == "axis" and column.name in rows.dims else None
    return {
        "name": column.name, "label": column.label, "title": column.title, "unit": column.unit, "role": column.role,
        "dim": dim, "values": pack.doubles(column.values[shown]),
        "names": column.names, "colours": column.colours, "steps": _steps(column), "geometric": column.geometric,
        "whole": _few_whole_numbers(column),
    }  # fmt: skip


def _few_whole_numbers(column: Column) -> bool:
    if not column.whole or column.geometric:
        return False
    return bool(np.nanmax(column.values) - np.nanmin(column.values) < FEW)


def _steps(column: Column) -> dict[str, Any]:
    """Unequal steps of colour, as in pictures, for results that a linear scale does not resolve; otherwise none."""
    scalar = column.values.ndim == 1 and column.role != "axis" and not column.colours
    found = boundaries(column.values) if scalar else None
    if found is None:
        return {"inner": [], "texts": [], "colours": []}
    return {"inner": found[1:-1].tolist(), "texts": texts(found), "colours": colours(len(found) - 1)}


@functools.cache
def _resource(name: str) -> str:
    return importlib.resources.files("jaxgait.plot.explorer").joinpath(name).read_text(encoding="utf-8")


def check_library() -> None:
    """Checks that Plotly is installed.

    Raises:
        ModuleNotFoundError: if it is missing, with what to install.
    """
    if importlib.util.find_spec("plotly") is None:
        raise ModuleNotFoundError('the explorer needs plotly: pip install "jaxgait[explore]"', name="plotly")


@functools.cache
def _library() -> str:
    check_library()
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()
