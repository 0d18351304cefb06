"""The page itself: what is in it, how it is written, and how a notebook shows it."""

from __future__ import annotations

import base64
import functools
import gzip
import html
import importlib.resources
import importlib.util
import os
import pathlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from jaxgait import checks, files
from jaxgait.model import Model
from jaxgait.parameters import parameters
from jaxgait.plot.explorer.lines import lines
from jaxgait.plot.explorer.playback import Pack, history_labels, one_run, playback
from jaxgait.plot.explorer.recipe import Recipe, of_run, opened, recipe
from jaxgait.plot.explorer.table import Column, Table, spread, table
from jaxgait.plot.film import usual_pace
from jaxgait.run import state_variables

__all__ = ["Explorer", "explore"]

PLAYED = 32
"""Members whose motion is in a page, by default."""
LISTED = 100_000
"""Members that a page lists at most; of more, some are drawn by lot."""
MARK = '<meta name="generator" content="jaxgait explorer">'
"""By which a page is known as one of ours."""
HEIGHT = 1180
"""Of the page inside a notebook, in pixels, until it knows its own."""
NOT_TRUSTED = (
    "The explorer is not shown: this notebook is not trusted, or this viewer shows no frames. Trust the notebook (in "
    "JupyterLab: View, Activate Command Palette, Trust Notebook) or run the cell again; page.save('page.html') writes "
    "it as a file."
)
"""What is left of the frame where frames are taken out."""


@dataclass(frozen=True, eq=False, repr=False)
class Explorer:
    """A page about a scan or a run; a notebook shows it, `save` writes it."""

    rows: Table | None
    """All members; None for a single run."""
    made: Recipe | None
    """What runs a member again; None if that is not known."""
    runs: dict[int, xr.Dataset]
    """By number of the member, those whose motion is in the page, as `simulate` returns them."""
    header: dict[str, Any]
    """What the page is given beside members and motions."""

    @property
    def html(self) -> str:
        """The whole page.

        Raises:
            ModuleNotFoundError: if Plotly is missing, with what to install.
        """
        parts = {name: _resource(f"page.{name}") for name in ("css", "html")}
        scripts = {name: _resource(f"{name}.js") for name in ("frame", "pack", "film")} | {
            "script": _resource("page.js")
        }
        packed = {"library": _library(), "data": base64.b64encode(self.packed()).decode()}
        page = parts.pop("html").replace("{{title}}", html.escape(self.header["title"]))
        for name, text in (parts | scripts | packed).items():
            page = page.replace("{{" + name + "}}", text)
        return page

    def packed(self) -> bytes:
        """Members and motions as the page takes them (see `jaxgait.plot.explorer.playback.Pack`)."""
        pack = Pack()
        header = self.header | _listed(pack, self.rows, self.made, [*self.runs, self.header["first"]])
        films = {m: self._film(pack, m, run) for m, run in self.runs.items()}
        header["films"] = [[m, film] for m, film in films.items()]
        header["speed"] = min(4.0, max(1 / 16, usual_pace(max((f["seconds"] for f in films.values()), default=1.0))))
        return pack.packed(header)

    def motion(self, member: int) -> bytes:
        """The motion of one member, simulated now unless it is in the page, as the page takes it.

        Args:
            member: its number.

        Raises:
            ValueError: if it is not known how to run it.
        """
        if self.made is None:
            raise ValueError(self.header["why"])
        pack, kept = Pack(), self.runs.get(member)
        return pack.packed({"film": self._film(pack, member, self.made.run(member) if kept is None else kept)})

    def _film(self, pack: Pack, member: int, run: xr.Dataset) -> dict[str, Any]:
        assert self.made is not None  # without it there are no runs
        return playback(pack, run, self.made.member_model(member))

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the page and returns its path.

        Raises:
            ValueError: for another ending than .html.
            ModuleNotFoundError: if Plotly is missing, with what to install.
        """
        place = pathlib.Path(path)
        if place.suffix.lower() != ".html":
            raise ValueError(f"cannot write {place}: the name of a page must end in .html")
        page = self.html
        place.parent.mkdir(parents=True, exist_ok=True)
        files.text(place, page)
        return place

    def __repr__(self) -> str:
        return f"<Explorer of {self.header['title']}; {len(self.runs)} in motion>"

    def _repr_html_(self) -> str:
        source, style = html.escape(self.html), f"width:100%;height:{HEIGHT}px;border:0"
        return f'<iframe srcdoc="{source}" style="{style}" allow="clipboard-write">{NOT_TRUSTED}</iframe>'


def explore(
    scan: xr.Dataset | str | os.PathLike[str],
    *,
    model: Model | None = None,
    measure: str | None = None,
    members: int = PLAYED,
    say: Callable[[str], None] | None = None,
) -> Explorer:
    """A page that shows a scan: a map of its members, their statuses and numbers, and the motion of chosen ones.

    Motions that the scan did not keep are simulated now, as one small ensemble: those of the best and the worst member,
    of one member of each status, of the one nearest to the model's own parameters (the reference), and of others that
    fill the box evenly. The page says which they are, and gives for every member the line that simulates it.

        explore("scan.nc", measure="rho").save("scan.html")

    Args:
        scan: a result of `ensemble` (also a store that is still being written), a run of `simulate`, or the file of
            one.
        model: what was run; None: made from the attributes of the scan.
        measure: what colours the map and decides which member is best; the first measure if None.
        members: how many members play at most.
        say: called with what is simulated, and with why nothing plays if nothing does.

    Returns:
        A page: `save` writes it, a notebook shows it.

    Raises:
        FileNotFoundError: for a file that is not there.
        TypeError: for anything but a result or its file.
        ValueError: for something that is not a scan, one without members, an unknown measure; for a run of a mechanism
            without a scene.
    """
    checks.count("members", members, least=0)
    if not isinstance(scan, xr.Dataset | str | os.PathLike):
        raise TypeError(f"explore shows a result of ensemble or simulate, or its file, got {type(scan).__name__}")
    data = scan if isinstance(scan, xr.Dataset) else opened(scan)
    source = None if isinstance(scan, xr.Dataset) else scan
    if is_run(data):
        return _of_run(data, model)
    rows = table(data)
    chosen = _measure(rows, measure)
    made, why = _recipe(data, model, source)
    reference = None if made is None else _nearest(rows, made)
    wanted = [] if made is None else _wanted(rows, made, chosen, reference, members)
    _tell(say, f"simulating {len(wanted)} of {rows.size} members for playback" if _simulates(data, wanted) else why)
    runs, silent = _runs(data, rows, made, wanted)
    notes = _notes(rows, chosen, runs, reference in runs, why or silent)
    header = _header(data, rows, chosen) | {"notes": notes, "why": why or silent or "", "serve": False}
    if made is not None:
        header |= {"lines": [lines(made, n) for n in range(len(made.retries) + 1)]}
    header |= {
        "reference": reference if reference in runs else None,
        "first": _best(rows, chosen, list(runs) or list(range(rows.size))),
    }
    return Explorer(rows, made, runs, header | _histories(runs, made))


def is_run(data: xr.Dataset) -> bool:
    """Whether this is one run over time."""
    return "status" not in data and "time" in data.coords and data["time"].dims == ("time",)


def is_page(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a page that was written here."""
    with open(path, "rb") as file:
        return MARK.encode() in file.read(1000)


def _simulates(scan: xr.Dataset, members: list[int]) -> bool:
    return bool(members) and not {"time", "sample"} & set(scan.dims)


def _tell(say: Callable[[str], None] | None, what: str) -> None:
    if say is not None and what:
        say(what)


def _of_run(run: xr.Dataset, model: Model | None) -> Explorer:
    """A page about one run."""
    made = of_run(run, model)
    empty = {"size": 1, "dims": [], "shape": [], "x": "", "y": "", "colour": "status", "reference": None, "first": 0}
    title = f"{type(made.model).__name__}: {run.attrs.get('status_text', 'one run')}"
    header = {"title": title, "about": _about(run), "model": type(made.model).__name__, "why": "", "serve": False}
    header |= empty | {"notes": [], "lines": [lines(made)]}
    return Explorer(None, made, {0: run}, header | _histories({0: run}, made))


def _recipe(scan: xr.Dataset, model: Model | None, source: str | os.PathLike[str] | None) -> tuple[Recipe | None, str]:
    """What runs the members again, or why that is not known."""
    if model is None and "model" not in scan.attrs:
        return (
            None,
            "No member can be played: the result does not say which model was run; explore(scan, model=...) does.",
        )
    try:
        return recipe(scan, model, source), ""
    except ValueError as error:
        return None, f"No member can be played: {error}."


def _measure(rows: Table, name: str | None) -> str | None:
    """The measure that counts.

    Raises:
        ValueError: for an unknown one.
    """
    if name is not None and name not in rows.columns:
        known = ", ".join(c.name for c in rows.of_role("measure"))
        raise ValueError(f"no measure {name!r}: the scan has {known or 'none'}")
    measures = [c for c in rows.of_role("measure") if np.isfinite(c.values[rows.completed]).any()]
    return name or next((c.name for c in measures), None)


def _wanted(rows: Table, made: Recipe, measure: str | None, reference: int | None, count: int) -> list[int]:
    """Members that are to play, the reference first."""
    found = spread(rows, count, measure)
    return ([] if reference is None else [reference, *(m for m in found if m != reference)])[:count] or found


def _nearest(rows: Table, made: Recipe) -> int | None:
    """The completed member that is nearest to the model's own values, distances in parts of what was scanned."""
    known = {n: p.value for n, p in parameters(made.model).items()}
    known |= {f"initial.{n}": x for n, x in state_variables(made.model.initial_state()).items()}
    away = np.where(rows.completed, 0.0, np.inf)
    for name, values in made.values.items():
        if values.ndim == 1:
            away += ((values - float(np.asarray(known[name]))) / (np.ptp(values) or 1.0)) ** 2
    return int(np.argmin(away)) if np.isfinite(away).any() else None


def _runs(scan: xr.Dataset, rows: Table, made: Recipe | None, members: list[int]) -> tuple[dict[int, xr.Dataset], str]:
    """Trajectories of members: those that the scan kept, or simulated ones; none of a mechanism without a scene."""
    if made is None or not members:
        return {}, ""
    if not getattr(made.model, "scene", ""):
        return {}, f"{type(made.model).__name__} has no scene to show (see jaxgait.plot.scene): numbers and lines only."
    if {"time", "sample"} & set(scan.dims):
        index = np.unravel_index(members, made.shape)
        at = {d: xr.DataArray(i, dims="member") for d, i in zip(made.dims, index, strict=True)}
        found = scan[[n for n, x in scan.data_vars.items() if set(made.dims) <= set(x.dims)]].isel(at).load()
    else:
        found = made.runs(members)
    ended = lambda m: {"status_text": rows.statuses[int(rows.status[m])][0]}
    return {m: one_run(found, i).assign_attrs(ended(m)) for i, m in enumerate(members)}, ""


def _best(rows: Table, measure: str | None, members: list[int]) -> int:
    """The member that the page opens with: the one with the largest value of the measure."""
    values = rows.columns[measure].values[members] if measure else np.full(len(members), np.nan)
    values = np.where(rows.completed[members], values, np.nan)
    return members[int(np.nanargmax(values))] if np.isfinite(values).any() else members[0]


def _histories(runs: Mapping[int, xr.Dataset], made: Recipe | None) -> dict[str, Any]:
    """What the page needs to know of all motions together: names and units, the phase plane."""
    if not runs or made is None:
        return {"labels": {}, "phase": ["", ""]}
    labels = history_labels(next(iter(runs.values())))
    names = [n for n in state_variables(made.model.initial_state()) if n in labels]
    return {"labels": labels, "phase": list(phase_plane(labels, names))}


def phase_plane(labels: Mapping[str, list[str]], names: list[str]) -> tuple[str, str]:
    """A coordinate and its rate: the first angle (or else the first other coordinate) that has one.

    Args:
        labels: long name and unit of all histories.
        names: those that are components of the state, positions first.
    """
    units = {n: labels[n][1] for n in labels}
    for name in sorted(names, key=lambda n: units[n] != "rad"):
        rates = [n for n in names if n != name and units[n] == f"{units[name]}/s"]
        alike = [n for n in names if units[n] == units[name]]
        if rates and units[name]:
            return name, rates[min(alike.index(name), len(rates) - 1)]
    listed = [*names, *(n for n in labels if n not in names)] or [""]
    return listed[0], listed[min(1, len(listed) - 1)]


def _header(scan: xr.Dataset, rows: Table, measure: str | None) -> dict[str, Any]:
    model = str(scan.attrs.get("model", "scan"))
    x, y = _plane(rows, measure)
    over = ", ".join(c.name for c in rows.of_role("axis") if len(np.unique(c.values)) > 1)
    title = f"{model}: {rows.size} members over {over}" if over else f"{model}: {rows.size} members"
    return {
        "title": title, "about": _about(scan), "model": model, "size": rows.size, "dims": list(rows.dims),
        "shape": list(rows.shape), "x": x, "y": y, "colour": measure or "status",
    }  # fmt: skip


def _plane(rows: Table, measure: str | None) -> tuple[str, str]:
    """What the map has across and up: two that were varied, or one and the measure."""
    axes = [c.name for c in sorted(rows.of_role("axis"), key=lambda c: c.name not in rows.dims)]
    others = [n for n in (measure, *rows.columns) if n and n != axes[0]]
    return axes[0], axes[1] if len(axes) > 1 else others[0] if others else axes[0]


def _about(data: xr.Dataset) -> str:
    """One line on how and when it was run."""
    attrs = data.attrs
    said = [
        f"{attrs['strides']} strides" if "strides" in attrs else "",
        f"{attrs['duration_s']:g} s" if "duration_s" in attrs else "",
        f"{attrs['scheme']}" + (f" with {attrs['solver']}" if "solver" in attrs else "") if "scheme" in attrs else "",
        str(attrs.get("precision", "")),
        f"jaxgait {attrs['jaxgait']}" if "jaxgait" in attrs else "",
        f"run on {str(attrs['created'])[:10]}" if "created" in attrs else "",
    ]
    return ", ".join(filter(None, said))


def _notes(rows: Table, measure: str | None, runs: Mapping[int, Any], reference: bool, why: str) -> list[str]:
    notes = [why] if why else []
    if runs:
        own = "the completed one nearest to the model's own parameters (the reference, a star), " if reference else ""
        best = f"the best and the worst by {measure}, " if measure else ""
        notes.append(
            f"The motions of {len(runs)} of {rows.size} members are in this page, ringed on the map: {own}{best}one of "
            "each status, the others spread evenly over what was varied. Every other member shows its values, and the "
            "lines that simulate it."
        )
    if rows.size > LISTED:
        notes.append(f"Of {rows.size} members {LISTED}, drawn by lot, and all that play are listed.")
    return notes


def _listed(pack: Pack, rows: Table | None, made: Recipe | None, played: list[int]) -> dict[str, Any]:
    """Members, statuses and numbers, put into the pack."""
    if rows is None:
        statuses = [["run", "#56B4E9", 1]]
        return {"columns": [], "status": pack.bytes([0]), "statuses": statuses, "completed": [0], "vectors": [],
                "gradients": {}, "own": {}, "thinned": False} | _own(pack, made, np.array([0]))  # fmt: skip
    shown = _lot(rows.size, played)
    completed = sorted({int(s) for s in rows.status[rows.completed]})
    found = {
        "columns": [_column(pack, c, rows, shown) for c in rows.columns.values()],
        "status": pack.bytes(rows.status[shown]),
        "statuses": [[*s, int((rows.status == i).sum())] for i, s in enumerate(rows.statuses)],
        "completed": completed,
        "vectors": [_column(pack, c, rows, shown) for c in rows.vectors.values()],
        "gradients": {m: {p: pack.floats(x[shown]) for p, x in g.items()} for m, g in rows.gradients.items()},
        "thinned": len(shown) < rows.size,
    }
    if found["thinned"]:
        found["ids"] = pack.doubles(shown)
    return found | _own(pack, made, shown)


def _own(pack: Pack, made: Recipe | None, shown: np.ndarray) -> dict[str, Any]:
    """What the lines need of each member."""
    if made is None:
        return {"own": {}}
    own = {n: pack.doubles(x[shown]) for n, x in made.values.items() if x.ndim == 1}
    return {"own": own, "retried": pack.bytes(made.retried[shown])}


def _lot(size: int, played: list[int]) -> np.ndarray:
    """Members that are listed, in order."""
    if size <= LISTED:
        return np.arange(size)
    drawn = np.random.default_rng(0).choice(size, LISTED, replace=False)
    return np.unique(np.concatenate([drawn, np.array(played, dtype=int)]))


def _column(pack: Pack, column: Column, rows: Table, shown: np.ndarray) -> dict[str, Any]:
    values = column.values[shown]
    exact = column.role == "axis"
    dim = rows.dims.index(column.name) if exact and column.name in rows.dims else None
    return {
        "name": column.name, "label": column.label, "title": column.title, "unit": column.unit, "role": column.role,
        "dim": dim, "values": pack.doubles(values) if exact else pack.floats(values),
    }  # fmt: skip


@functools.cache
def _resource(name: str) -> str:
    return importlib.resources.files("jaxgait.plot.explorer").joinpath(name).read_text(encoding="utf-8")


def check_library() -> None:
    """Finds out before the work whether Plotly is there.

    Raises:
        ModuleNotFoundError: saying what to install, if it is missing.
    """
    if importlib.util.find_spec("plotly") is None:
        raise ModuleNotFoundError('the explorer needs plotly: pip install "jaxgait[explore]"', name="plotly")


@functools.cache
def _library() -> str:
    """Plotly's script, compressed."""
    check_library()
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()
