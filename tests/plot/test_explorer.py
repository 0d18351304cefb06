"""The explorer: what its page holds is the scan, its lines give the same numbers, and a browser shows it."""

import dataclasses
import gzip
import json
import re
import shlex
import threading
import time
import urllib.error
import urllib.request
from importlib import util
from typing import ClassVar

import jax
import numpy as np
import pytest
import xarray as xr

import jaxgait
from jaxgait import cli
from jaxgait.ensembles import ensemble, grid, people, product
from jaxgait.ensembles.recipe import run_recipe, scan_recipe
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.motion.drive import reference_gait
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.stride import Person
from jaxgait.outcome import IncompleteRun
from jaxgait.parameters import parameters, with_parameters
from jaxgait.plot.explorer import again, explore, page
from jaxgait.plot.explorer.lines import lines
from jaxgait.plot.explorer.page import phase_plane
from jaxgait.plot.explorer.playback import Pack, frames, rigid
from jaxgait.plot.explorer.serving import server
from jaxgait.plot.explorer.table import COUNTS, spread, table
from jaxgait.plot.scale import boundaries
from jaxgait.plot.scene import scene
from jaxgait.run import Sampling
from jaxgait.solve.dataset import provenance
from jaxgait.solve.schemes import scheme_for
from tests.plot import browser

HAS_PLOTLY = util.find_spec("plotly") is not None
needs_plotly = pytest.mark.skipif(not HAS_PLOTLY, reason="plotly is not installed: pip install 'jaxgait[explore]'")
needs_chromium = pytest.mark.skipif(bool(browser.missing()), reason=f"not installed: {', '.join(browser.missing())}")
RUN = {"duration": 12.0, "samples": 200}
MOST_STEPS = 270
"""Which one member does not do with."""


@pytest.fixture(scope="module")
def scan():
    """Of a jumper with a rope of his own, 1 of 12 members gives up; gradients that point to the right and up."""
    model = with_parameters(Bungee(), {"rope_length": 28.0})
    members = grid({"mass": [40.0, 60.0, 80.0, 100.0], "stiffness": [15.0, 20.0, 40.0]})
    with pytest.warns(IncompleteRun):
        data = ensemble(
            model, members, observe=["clearance", "peak_rope_force"], max_steps=MOST_STEPS, retry=False, **RUN
        )
    slope = np.broadcast_to([1.0, 2.0], (4, 3, 2))
    data = data.assign(clearance_gradient=(("mass", "stiffness", "parameter"), slope))
    angles = np.linspace(0.0, np.pi, 12).reshape(4, 3, 1) * [1.0, -1.0]
    data = data.assign(multiplier_real=(("mass", "stiffness", "index"), 1.1 * np.cos(angles)))
    data = data.assign(multiplier_imag=(("mass", "stiffness", "index"), 1.1 * np.sin(angles)))
    return data.assign_coords(parameter=["mass", "stiffness"])


class Gentle(Bungee):
    search: ClassVar = {"minimize": "peak_rope_force"}


@pytest.fixture(scope="module")
def shown(scan):
    return explore(scan, members=6)


def unpacked(content):
    """Header and arrays of a pack, as the page reads them."""
    content = gzip.decompress(content)
    start = 4 + int.from_bytes(content[:4], "little")

    def read(x):
        if isinstance(x, list):
            return [read(e) for e in x]
        if not isinstance(x, dict):
            return x
        if not {"at", "kind", "shape"} <= set(x):
            return {k: read(e) for k, e in x.items()}
        kind = {"f4": "<f4", "f8": "<f8", "u1": "u1", "d2": "<u2"}[x["kind"]]
        count = int(np.prod(x["shape"]))
        values = np.frombuffer(content, kind, count, start + x["at"]).reshape(x["shape"])
        if x["kind"] != "d2":
            return values
        whole = np.cumsum(values, axis=0, dtype=np.uint16)
        return np.where(whole == 65535, np.nan, x["low"] + x["step"] * whole)

    return read(json.loads(content[4:start]))


def line(made, member):
    """The lines that reproduce one member, with its own values, as the page fills them in."""
    index = dict(zip(made.dims, map(int, np.unravel_index(member, made.shape)), strict=True))
    own = {n: repr(float(x)) for n, x in made.of(member).items() if np.ndim(x) == 0}
    own |= {f"#{dim}": str(i) for dim, i in index.items()} | {"member": str(member)}
    found = lines(made, int(made.retried[member]))
    return {kind: re.sub(r"\{\{([^{}]+)\}\}", lambda m: own[m[1]], text) for kind, text in found.items()}


def test_the_page_holds_the_values_of_all_members(scan, shown):
    found = unpacked(shown.packed())
    columns = {c["name"]: c for c in found["columns"]}
    for name in ("clearance", "peak_rope_force", "x_end", "steps"):
        np.testing.assert_allclose(columns[name]["values"], scan[name].values.ravel(), rtol=1e-6)
    mass = np.repeat(scan.mass.values, 3)
    assert np.array_equal(columns["mass"]["values"], mass) and columns["mass"]["title"] == "mass: body mass (kg)"
    assert columns["mass"]["dim"] == 0 and columns["stiffness"]["dim"] == 1 and columns["clearance"]["dim"] is None
    assert np.array_equal(found["own"]["mass"], mass)
    assert np.array_equal(found["gradients"]["clearance"]["stiffness"], np.full(12, 2.0))
    assert {v["name"] for v in found["vectors"]} == {"multiplier_real", "multiplier_imag"}
    assert (found["x"], found["y"], found["colour"]) == ("mass", "stiffness", "clearance")


def test_crowded_measures_have_the_steps_of_colour_of_pictures():
    along = np.linspace(0.0, 1.0, 9)
    rho = 0.998 - np.subtract.outer(along, along**1.2) ** 4
    data = xr.Dataset({"rho": (("k", "c"), rho), "low": (("k", "c"), 0.5 * rho**0)}, {"k": along, "c": along})
    steps = {c["name"]: c["steps"] for c in unpacked(explore(data).packed())["columns"]}
    assert steps["rho"]["inner"] == boundaries(rho.ravel())[1:-1].tolist()
    assert len(steps["rho"]["texts"]) - 1 == len(steps["rho"]["colours"]) == len(steps["rho"]["inner"]) + 1
    assert not steps["k"]["texts"] and not steps["low"]["texts"], "a linear scale"


def test_the_page_opens_with_the_best_member_by_the_search_of_the_model(scan):
    found = unpacked(explore(scan, model=Gentle(rope_length=28.0), members=3).packed())
    assert found["colour"] == "peak_rope_force"
    assert found["first"] == np.nanargmin(np.where(scan.status == 0, scan.peak_rope_force, np.nan))


def test_statuses_have_their_sentences_and_colours(scan, shown):
    found = unpacked(shown.packed())
    sentences = [sentence for sentence, *_ in found["statuses"]]
    assert sentences[0] == "completed" and sentences[1].startswith("gave up: the step limit") and len(sentences) == 2
    assert (
        np.array_equal(found["status"] == 1, scan.status.values.ravel() == 1) and 0 < (found["status"] == 1).sum() < 12
    )
    assert len({colour for _, colour, _ in found["statuses"]}) == 2 and found["completed"] == [0]


def test_reference_best_worst_and_one_of_each_status_play(scan, shown):
    clearance = scan.clearance.values.ravel()
    failed = int(np.flatnonzero(scan.status.values.ravel())[0])
    nearest = 4  # 60 kg and 20 N/m: the model has 70 kg and 20 N/m
    assert {nearest, int(np.nanargmax(clearance)), int(np.nanargmin(clearance)), failed} <= set(shown.runs)
    assert shown.header["reference"] in (4, 7) and len(shown.runs) == 6
    assert shown.header["first"] == int(np.nanargmax(clearance))
    (note,) = shown.header["notes"]
    reasons = "the largest and the smallest clearance, one of each status, and others spread evenly over the scan. For"
    assert "6 of 12 members" in note and reasons in note and "(the reference, a star), those with" in note


def test_the_page_names_only_what_was_chosen(scan):
    note = lambda **options: explore(scan, members=3, **options).header["notes"][0].partition("map: ")[2]
    few = note(measure="clearance")
    assert "the largest and the smallest clearance" in few and "one of each status" not in few and "others" not in few
    assert "the best and the worst by peak_rope_force" in note(model=Gentle(rope_length=28.0))
    assert "best" not in note(model=Gentle(rope_length=28.0), measure="clearance")


def test_how_members_ended_colours_a_page(scan):
    found = explore(scan, members=0, measure="status").header
    assert found["colour"] == "status" and found["first"] == explore(scan, members=0).header["first"]


def test_measures_have_all_digits_and_any_size(scan):
    extreme = scan.assign(clearance=scan.clearance * 1e60, peak_rope_force=scan.peak_rope_force * 1e-60)
    columns = {c["name"]: c["values"] for c in unpacked(explore(extreme, members=0).packed())["columns"]}
    for name in ("clearance", "peak_rope_force"):
        np.testing.assert_array_equal(columns[name], extreme[name].values.ravel())
    pack = Pack()
    for values, kind in (([1.0, 0.0, np.nan], "f4"), ([1e45], "f8"), ([1.0, 1e-50], "f8")):
        assert pack.floats(values)["kind"] == kind


def test_playback_is_the_scene_of_simulate(scan, shown):
    films = dict(unpacked(shown.packed())["films"])
    member = shown.header["first"]
    model = with_parameters(Bungee(), {"rope_length": 28.0, **shown.recipe.of(member)})
    run = shown.recipe.run(member)  # that of its line, see below
    film, true = films[member], scene(run, model)
    assert np.array_equal(film["time"], true.time)
    for packed, shape in zip(film["shapes"], true.shapes, strict=True):
        where = packed["points"] if "points" in packed else placed(packed)
        exact = shape.points if "points" in packed else shape.outline
        assert np.abs(where - exact).max() < 2e-5 * np.ptp(exact)
    np.testing.assert_allclose(film["forces"][0]["force"], true.forces[0].force, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(film["histories"]["x"], run.x, rtol=1e-5, atol=1e-5)
    assert film["ended"] == "completed" and film["ground"] == [0.0, 0.0]


def placed(packed):
    """The outline of a body at all samples."""
    if "pose" not in packed:
        return packed["outline"]
    right, up, angle = packed["pose"].T
    turned = (packed["outline"][0] @ [1.0, 1.0j])[None] * np.exp(1j * angle)[:, None] + (right + 1j * up)[:, None]
    return np.stack([turned.real, turned.imag], axis=-1)


def test_a_member_that_failed_plays_as_far_as_it_came(scan, shown):
    member = int(np.flatnonzero(scan.status.values.ravel())[0])
    film = dict(unpacked(shown.packed())["films"])[member]
    end = float(scan.t_end.values.ravel()[member])
    # The scan watched extremes on its way and the playback events: their steps, and where these are used up, differ.
    assert abs(film["time"][-1] - end) < 0.5 and film["ended"].startswith("gave up")
    assert all(np.isfinite(s.get("points", 0.0)).all() for s in film["shapes"])


def test_the_python_line_gives_the_numbers_of_the_scan(scan, shown):
    member = shown.header["first"]
    text = line(shown.recipe, member)["python"]
    assert text.startswith("from jaxgait import Bungee, simulate, with_parameters\n") and "'rope_length': 28.0" in text
    there = {}
    exec(text, there)
    mass, stiffness = divmod(member, 3)
    assert float(there["run"].x[-1]) == pytest.approx(float(scan.x_end[mass, stiffness]), rel=1e-6)
    assert there["run"].attrs["max_steps"] == MOST_STEPS
    xr.testing.assert_equal(again(scan.isel(mass=mass, stiffness=stiffness)), there["run"])


def test_a_part_of_a_scan_keeps_its_fixed_values(scan):
    part = scan.isel(stiffness=2)
    xr.testing.assert_equal(again(part.isel(mass=1)), again(scan.isel(mass=1, stiffness=2)))
    assert explore(part, members=0).recipe.values["stiffness"].tolist() == [40.0] * 4
    start = scan.isel(stiffness=0).assign_coords({"initial.v": 3.0})
    assert float(again(start.isel(mass=1)).v[0]) == 3.0


@pytest.mark.slow
def test_one_of_several_people_keeps_his_own_motion_and_leg():
    leg, who = people(Prosthesis(), REFERENCE_GAITS[:2])
    walks = ensemble(leg, product(who, grid({"damper.k": [1.8e4, 2e4]})), strides=1, progress=False)
    whole, part = scan_recipe(walks), scan_recipe(walks.isel(subject=1))
    for one in (0, 1):
        ours, theirs = part.member_model(one), whole.member_model(2 + one)
        assert float(ours.drive.period) == pytest.approx(float(walks["drive.period"][1]), rel=1e-15)
        assert {n: float(p.value) for n, p in parameters(ours).items()} == {
            n: float(p.value) for n, p in parameters(theirs).items()
        }
        assert jax.tree.all(jax.tree.map(np.array_equal, ours.drive.thigh, theirs.drive.thigh))


@pytest.mark.usefixtures("unaligned")
def test_a_member_driven_by_a_later_person_records_that_person():
    drives = [dataclasses.replace(reference_gait(), person=Person(0.42, x, m)) for x, m in ((0.43, 72.0), (0.45, 80.0))]
    leg, who = people(Prosthesis(), drives)
    made = provenance(leg, scheme_for(leg), "float64", Sampling.of(leg, 1, duration=None, samples=None))
    walks = xr.Dataset({"status": ("subject", [0, 0])}, who.labels, made)
    for one in (0, 1):
        person = scan_recipe(walks).member_model(one).drive.person
        assert [float(x) for x in person] == [float(x) for x in drives[one].person]


def test_the_shell_line_is_read_as_it_is_meant(shown, monkeypatch, tmp_path):
    words = shlex.split(line(shown.recipe, 2)["shell"])
    assert words[:3] == ["jaxgait", "run", "bungee"]
    seen = {}
    monkeypatch.setattr("jaxgait.cli.running.run", lambda *a: seen.setdefault("call", a) and 0)
    monkeypatch.chdir(tmp_path)
    cli.main(words[1:])
    model, start, options, out, *_ = seen["call"]
    assert (float(model.mass), float(model.stiffness), float(model.rope_length)) == (40.0, 40.0, 28.0)
    assert start is None and out.name == "member_2.nc"
    assert options == {
        "strides": None,
        "duration": 12.0,
        "samples": 200,
        "max_steps": MOST_STEPS,
        "precision": "float64",
    }


def test_the_line_of_a_single_run_has_no_number_of_a_member():
    run = jaxgait.simulate(Bungee(), duration=1.0)
    assert lines(run_recipe(run))["shell"].endswith("--out again.nc")


def test_lines_of_starts_and_retries(scan):
    start = scan.isel(stiffness=0).rename({"mass": "initial.v"})
    made = scan_recipe(start.drop_vars("stiffness"), Bungee())
    text = line(made, 1)
    assert "starting(model, {'v': 60.0})" in text["python"] and "--initial v=60.0" in text["shell"]
    legend = '{"0": "first attempt", "1": "tighter tolerance", "2": "stiff solver"}'
    retried = scan.assign(retries=scan.retries + 1).assign_attrs(retries_legend=legend)
    assert "rtol=1e-12" in line(scan_recipe(retried), 0)["python"]
    with pytest.raises(ValueError, match="members of retry 1, but this version has 0"):
        scan_recipe(scan.assign(retries=scan.retries + 1))
    with pytest.raises(ValueError, match="first_step"):
        scan_recipe(scan.assign_attrs(first_step_s=0.5))


def test_again_takes_one_member_as_xarray_selects_it(scan):
    mass, stiffness = float(scan.mass[3]), float(scan.stiffness[1])
    run = again(scan.sel(mass=mass, stiffness=stiffness))
    assert json.loads(run.attrs["parameters"]) | {"mass": mass, "stiffness": stiffness} == json.loads(
        run.attrs["parameters"]
    )
    assert float(run.x[-1]) == pytest.approx(float(scan.x_end[3, 1]), rel=1e-6)
    paired = scan.stack(member=("mass", "stiffness")).reset_index("member")
    xr.testing.assert_equal(again(paired.isel(member=10)), run)
    with pytest.raises(ValueError, match=r"select one member: again\(scan\.sel\(mass=\.\.\., stiffness=\.\.\.\)\)"):
        again(scan)


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_a_run_from_the_models_own_start_names_no_start(scan, kind):
    run = jaxgait.simulate(Bungee(), duration=1.0, initial_state=Bungee().initial_state())
    height = float(run.x[0])
    assert height != 0.0
    run["x"] = run.x.astype(kind) * (1.0 + np.finfo(kind).eps)  # as compiled programs round
    assert run_recipe(run).values == {}
    run["x"] = run.x * (1.0 + 1e-4)
    assert float(run_recipe(run).values["initial.x"][0]) == pytest.approx(height * (1.0 + 1e-4), rel=1e-6)


def test_a_scan_of_an_unknown_model_shows_numbers_and_says_why_nothing_plays(scan):
    messages = []
    found = explore(scan.assign_attrs(model="Unicycle"), say=messages.append)
    assert not found.runs and "'Unicycle', which is not registered here: register it" in found.header["notes"][0]
    assert messages and found.header["first"] is not None and "lines" not in found.header
    known = scan_recipe(scan.assign_attrs(model="Unicycle"), Bungee())
    assert type(known.model) is Bungee
    with pytest.raises(ValueError, match="nothing to serve"):
        server(found)


def test_a_scan_of_a_model_without_a_scene_simulates_nothing(scan):
    unseen, messages = type("Unseen", (Bungee,), {"scene": ""}), []
    found = explore(scan, model=unseen(rope_length=28.0), say=messages.append)
    assert (
        messages == ["Unseen has no scene to show (see jaxgait.plot.scene): numbers and lines only."] and not found.runs
    )
    assert found.header["why"] == messages[0] and "lines" in found.header


def test_bad_input_is_one_clear_sentence(scan, tmp_path):
    with pytest.raises(ValueError, match="no measure 'clearence': the scan has clearance, peak_rope_force"):
        explore(scan, measure="clearence")
    with pytest.raises(ValueError, match="has no members"):
        explore(scan.isel(mass=slice(0, 0)))
    with pytest.raises(ValueError, match="nothing to explore: this is not a scan"):
        explore(xr.Dataset({"a": 1.0}))
    with pytest.raises(FileNotFoundError, match=r"nowhere.nc: no such file"):
        explore(tmp_path / "nowhere.nc")
    with pytest.raises(ValueError, match="members must be a whole number, at least 0"):
        explore(scan, members=-1)
    with pytest.raises(ValueError, match="measure colours the members of a scan, and this is one run: got 'height'"):
        explore(jaxgait.simulate(Bungee(), duration=1.0), measure="height")


def test_without_plotly_the_error_says_what_to_install(shown, monkeypatch):
    monkeypatch.setattr(page.importlib.util, "find_spec", lambda name: None)
    page._library.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r'pip install "jaxgait\[explore\]"'):
        _ = shown.html
    page._library.cache_clear()


def test_any_table_of_members_is_a_scan():
    data = xr.Dataset(
        {"residual": (("k", "ratio"), np.eye(2)), "multiplier_real": (("k", "ratio", "index"), np.zeros((2, 2, 4)))},
        coords={"k": [1.0, 2.0], "ratio": [3.0, 4.0], "damper.k": (("k", "ratio"), np.ones((2, 2)))},
    )
    found = table(data)
    assert found.dims == ("k", "ratio") and set(found.columns) == {"k", "ratio", "damper.k", "residual"}
    assert (
        found.statuses[0][0] == "no status recorded"
        and found.completed.all()
        and found.vectors.keys() == {"multiplier_real"}
    )
    assert table(data.drop_vars(["k"])).columns["k"].values.tolist() == [0.0, 0.0, 1.0, 1.0]


def test_results_are_in_degrees_and_parameters_in_their_own_unit():
    angle = {"units": "rad"}
    data = xr.Dataset(
        {"peak": ("slope", [np.pi, 2 * np.pi], angle), "legs": (("slope", "leg"), np.full((2, 2), np.pi), angle)},
        {"slope": ("slope", [0.1, 0.2], angle)},
    )
    found = table(data)
    units = [(one.unit, one.values.flat[-1]) for one in (*found.columns.values(), *found.vectors.values())]
    assert units == [("rad", 0.2), ("deg", 360.0), ("deg", 180.0)]


def test_the_first_scanned_parameter_is_across(scan):
    turned = scan.transpose("stiffness", ...)
    for coords in (["mass", "stiffness"], ["stiffness", "mass"]):  # a store lists them by name
        data = turned.drop_vars(coords).assign_coords({n: turned[n] for n in coords})
        found = explore(data, members=0).header
        assert (found["x"], found["y"]) == ("stiffness", "mass") and found["title"].endswith("over stiffness, mass")
    one = explore(scan.isel(stiffness=0), members=0).header
    assert (one["x"], one["y"]) == ("mass", "clearance")


def test_members_not_run_yet_are_shown_and_not_chosen(scan):
    status = scan.status.copy()
    status[1:] = -1
    found = table(scan.assign(status=status))
    assert found.statuses[-1][0] == "not run yet" or ("not run yet", "#C8C8C8") in found.statuses
    assert set(spread(found, 12, None)) == {0, 1, 2}


def test_chosen_members_fill_the_box(scan):
    corners = spread(table(scan.assign(status=0 * scan.status)), 5, None)
    assert {0, 2, 9, 11} <= set(corners) and len(set(corners)) == 5


def test_of_many_members_of_a_grid_whole_rows_are_listed(scan, monkeypatch):
    monkeypatch.setattr(page, "MAX_LISTED", 5)
    found = unpacked(explore(scan, members=2).packed())
    ids, whole = found["ids"].astype(int), found["whole"]
    assert found["thinned"] and ids[:whole].tolist() == [0, 2, 6, 8]  # every other mass and stiffness
    assert {found["first"], found["reference"]} <= {*ids} and len({*ids}) == len(ids)
    clearance = next(c for c in found["columns"] if c["name"] == "clearance")["values"]
    np.testing.assert_array_equal(clearance, scan.clearance.values.ravel()[ids])
    assert found["sampled"] == "1 in 2 values of mass, 1 in 2 values of stiffness: 4 of 12 members"


def test_of_many_members_of_a_sample_some_are_drawn(scan, monkeypatch):
    monkeypatch.setattr(page, "MAX_LISTED", 5)
    drawn = scan.stack(sample=("mass", "stiffness")).reset_index("sample")
    found = unpacked(explore(drawn, members=0).packed())
    assert found["whole"] == 5 and len({*found["ids"][:5]}) == 5 and found["sampled"].startswith("a random sample of 5")


def test_a_rigid_outline_is_kept_as_its_motion():
    angle = np.linspace(0.0, 3.0, 7)
    square = np.array([[0, 0], [2, 0], [2, 1], [0, 1.5]]) @ [1.0, 1.0j]
    turned = square * np.exp(1j * angle)[:, None] + angle[:, None] * (1.0 - 2.0j)
    outline = np.stack([turned.real, turned.imag], axis=-1)
    pose = rigid(outline)
    np.testing.assert_allclose(pose[:, 2], angle, atol=1e-12)
    np.testing.assert_allclose(pose[:, :2], angle[:, None] * [1.0, -2.0], atol=1e-12)
    outline[3, 0] += 1e-2
    assert rigid(outline) is None and rigid(outline[:1]) is None


def test_packed_points_keep_five_digits_and_gaps():
    points = np.random.default_rng(0).normal(size=(9, 4, 2))
    points[2, 1] = np.nan
    pack = Pack()
    found = unpacked(pack.packed({"p": pack.points(points)}))["p"]
    assert np.array_equal(np.isnan(found), np.isnan(points)) and np.nanmax(np.abs(found - points)) < 1e-4


def test_of_many_strides_the_last_are_played():
    run = xr.Dataset(coords={"time": np.arange(2001) / 100.0}, attrs={"samples_per_stride": 100})
    ends = lambda played: (played[0], played[-1], played[1] - played[0], len(played))
    assert ends(frames(run, 20.0)) == (1700, 2000, 1, 301) and ends(frames(run, 10.005)) == (700, 1000, 1, 301)
    assert ends(frames(run.assign_attrs(samples_per_stride=1000), 20.0)) == (0, 2000, 7, 287)
    assert ends(frames(run.drop_attrs(), 10.015)) == (0, 1001, 4, 252), "the last sample, where it fell, is played"


def test_the_phase_plane_is_a_coordinate_and_its_rate():
    labels = {"t": ["", "s"], "x": ["", "m"], "a": ["", "deg"], "v": ["", "m/s"], "w": ["", "deg/s"]}
    assert phase_plane(labels, ["x", "a", "v", "w"]) == ("a", "w") and phase_plane(labels, ["x", "v"]) == ("x", "v")
    assert phase_plane(labels, ["v", "w"]) == ("v", "w") and phase_plane({}, []) == ("", "")


def test_members_of_a_latin_hypercube_are_simulated_for_playback(scan):
    drawn = scan.isel(stiffness=0).rename(mass="sample").reset_coords("stiffness", drop=True)
    found = explore(drawn.drop_vars("sample").assign_coords(mass=("sample", scan.mass.values)), members=2)
    assert len(found.runs) == 2 and (found.header["x"], found.header["y"]) == ("mass", "clearance")


def test_kept_trajectories_are_played_as_they_are(shown):
    kept, messages = shown.recipe.runs(list(shown.runs)), []  # as many as in the page: one program
    found = explore(kept, members=2, say=messages.append)
    assert not messages and len(found.runs) == 2
    for member, run in found.runs.items():
        np.testing.assert_array_equal(run.x, kept.x.isel(member=member))


@needs_plotly
def test_the_command_writes_the_page_next_to_the_scan(scan, tmp_path, capsys):
    file = tmp_path / "scan.nc"
    scan.to_netcdf(file, engine="h5netcdf")
    cli.main(["view", str(file), "--members", "0"])
    assert "wrote" in capsys.readouterr().out and page.is_page(tmp_path / "scan.html")
    cli.main(["view", str(file), "--members", "0", "--variables", "peak_rope_force"])  # over its own page
    (tmp_path / "scan.html").write_text("mine")
    for arguments, message in (
        (["--members", "0"], "was not written by this command"),
        (["--out", str(tmp_path / "a.png"), "--members", "3"], "--members is for pages"),
        (["--out", str(tmp_path / "a.html"), "--variables", "lowest"], "no measure 'lowest'"),
        (["--out", str(tmp_path / "a.html"), "--variables", "steps,t_end"], "names one to colour it by"),
    ):
        with pytest.raises(SystemExit) as stop:
            cli.main(["view", str(file), *arguments])
        messages = capsys.readouterr().err
        assert stop.value.code == 2 and message in messages and messages.count("\n") == 1
    assert (tmp_path / "scan.html").read_text() == "mine"


def test_the_command_without_plotly_fails_and_says_what_to_install(scan, tmp_path, capsys, monkeypatch):
    file = tmp_path / "scan.nc"
    scan.to_netcdf(file, engine="h5netcdf")
    found = util.find_spec
    monkeypatch.setattr(page.importlib.util, "find_spec", lambda name: None if name == "plotly" else found(name))
    with pytest.raises(SystemExit) as stop:
        cli.main(["view", str(file)])
    messages = capsys.readouterr()
    assert stop.value.code == 2 and 'pip install "jaxgait[explore]"' in messages.err and messages.err.count("\n") == 1
    assert "clearance" in messages.out and not (tmp_path / "scan.html").exists()


def test_the_command_says_what_it_would_not_follow(tmp_path, capsys):
    run, table = tmp_path / "run.nc", tmp_path / "table.nc"
    jaxgait.simulate(Bungee(), duration=1.0).to_netcdf(run, engine="h5netcdf")
    for arguments, message in (
        (["--variables", "x", "--out", str(tmp_path / "a.gif")], "--variables names what a picture of a run draws"),
        (["--variables", "x", "--out", str(tmp_path / "a.html")], "--variables names what a picture of a run draws"),
        (["--variables", "x"], "--variables names what a picture of a run draws"),
        (["--members", "0", "--out", str(tmp_path / "a.html")], "--members is for pages of scans"),
        (["--serve", "--out", str(tmp_path / "a.html")], "--serve shows a page instead of writing"),
    ):
        with pytest.raises(SystemExit) as stop:
            cli.main(["view", str(run), *arguments])
        messages = capsys.readouterr()
        assert stop.value.code == 2 and message in messages.err and not messages.out
    page_file = tmp_path / "run.html"
    page_file.write_text(f"<!doctype html>{page.MARK}")
    with pytest.raises(SystemExit):
        cli.main(["view", str(page_file)])
    assert "run.html is a page of the explorer: open it in a browser" in capsys.readouterr().err
    xr.Dataset({"a": 1.0}).to_netcdf(table, engine="h5netcdf")
    cli.main(["view", str(table)])  # printing it is all that was asked for
    assert "no page: nothing to explore: this is not a scan" in capsys.readouterr().err


@needs_plotly
def test_a_notebook_shows_the_page_in_a_frame(shown):
    frame = shown._repr_html_()
    assert frame.startswith('<iframe srcdoc="&lt;!doctype html&gt;') and frame.count('"') < 20
    assert frame.endswith(f">{page.NOT_TRUSTED}</iframe>")  # of a frame that is taken out, its text is left
    assert len(frame) < 3_000_000
    assert repr(shown) == "<Explorer of Bungee: 12 members over mass, stiffness; 6 in motion>"
    fetched = re.findall(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["'](?!data:)""", shown.html)
    assert not fetched  # nothing comes over a network
    assert jaxgait.explore is explore


@needs_plotly
def test_any_member_is_simulated_when_it_is_asked_for(scan, shown):
    missing = next(m for m in range(12) if m not in shown.runs and not scan.status.values.ravel()[m])
    with server(shown) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        at = f"http://127.0.0.1:{running.server_port}"
        assert page.MARK in urllib.request.urlopen(f"{at}/").read(1000).decode()
        film = unpacked(urllib.request.urlopen(f"{at}/member/{missing}").read())["film"]
        for path, code in ((f"{at}/member/12", 404), (f"{at}/secrets", 404)):
            with pytest.raises(urllib.error.HTTPError, match=str(code)):
                urllib.request.urlopen(path)
        foreign = urllib.request.Request(f"{at}/", headers={"Host": "example.org:80"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(foreign)
        running.shutdown()
    assert film["histories"]["x"][-1] == pytest.approx(float(scan.x_end.values.ravel()[missing]), rel=1e-4)


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with browser.browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


def spot(member):
    """Where a member is on the map, in pixels of the window."""
    return (
        "const f = $('map')._fullLayout, box = $('map').getBoundingClientRect();"
        f"const at = name => column(name).values.data[{member}];"
        "return [box.left + f.xaxis._offset + f.xaxis.l2p(at('mass')), "
        "box.top + f.yaxis._offset + f.yaxis.l2p(at('stiffness'))];"
    )


@needs_plotly
@needs_chromium
def test_in_a_browser_click_brush_keys_and_playback(scan, shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    other = next(m for m in shown.runs if m != shown.header["first"])
    before = window.js("return $('film').toDataURL()")
    window.click(*window.js(spot(other)))
    window.until(f"state.member === {other}")
    assert window.js("return $('film').toDataURL()") != before
    assert (
        window.js("return document.querySelector('#lines pre').firstChild.textContent")
        == line(shown.recipe, other)["python"]
    )
    window.press("\ue014")  # right arrow
    assert window.js("return +$('slider').value") == 1
    window.press(" ")
    window.until("state.playing && +$('slider').value > 3")
    window.press(" ")
    silent = next(m for m in range(12) if m not in shown.runs)
    window.click(*window.js(spot(silent)))
    window.until(f"state.member === {silent}")
    assert window.js("return [$('absent').hidden, $('charts').hidden]") == [False, True]
    low, high = window.js(spot(0)), window.js(spot(7))
    window.drag((low[0] - 15, low[1] + 15), (high[0], high[1]), (high[0] + 15, high[1] - 15))
    window.until("state.selected.size > 0")
    assert window.js("return [...state.selected].sort((a, b) => a - b)") == [0, 1, 3, 4, 6, 7]
    assert "6 members selected" in window.js("return $('several-note').textContent")
    shown_side_by_side = "return [...document.querySelectorAll('#multiples canvas')].map(c => +c.dataset.member)"
    assert window.js(shown_side_by_side) == sorted({0, 1, 3, 4, 6, 7} & set(shown.runs))
    dots = "[...document.querySelector('#map .scatterlayer .trace').querySelectorAll('path.point')]"
    white = f"{dots}.filter(p => +p.style.opacity > 0).length"
    for act in (
        "document.querySelector('#multiples figure').click()",
        "$('colour').value = 'steps'; $('colour').onchange()",
    ):
        window.js(act)
        time.sleep(0.5)  # Plotly reports a selection with its drawing
        assert window.js(f"return [state.selected.size, {white}, $('forget').hidden]") == [6, 6, False]
    window.js("$('colour').value = 'clearance'; $('colour').onchange()")
    right = (high[0] + 60, high[1])
    window.click(*right)
    window.click(*right)  # a double click forgets the selection, as everywhere in Plotly
    window.until("state.selected.size === 0 && $('forget').hidden")
    window.until(f"{dots}.every(p => +p.style.opacity === 0)")
    window.js("$('arrows').click(); $('colour').value = 'status'; $('colour').onchange();")
    assert window.js("return $('map').data[0].type") == "heatmap", "cells, above which the marks are seen"
    assert window.js("return $('history').layout.xaxis.title.text") == "time (s)"
    window.js("$('as-lines').click()")
    window.until("$('map').data[0].type === 'parcoords'")
    window.js("Plotly.restyle($('map'), { 'dimensions[0].constraintrange': [[55, 85]] })")
    window.until("state.selected.size === 6")
    window.js("$('colour').value = 'clearance'; $('colour').onchange()")
    time.sleep(0.5)
    assert window.js("return [state.selected.size, $('map').data[0].dimensions[0].constraintrange]") == [6, [55, 85]]
    wide = "$('history')._fullLayout.width === $('history').clientWidth"
    window.until(f"{wide} && $('film').width === $('film').offsetWidth")
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_films_of_a_page_share_one_scale_and_curves_the_colours_of_their_scene(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    shares = (
        "const all = [...films.values()], most = value => Math.max(...all.map(value));"
        "return [state.common.scale === most(f => f.scale), state.common.span[1] === most(f => f.views[0].span[1])]"
    )
    assert window.js(shares) == [True, True]
    assert re.search(
        r"All are drawn at one scale \(force arrows: \d+ m: \d+ N\)", window.js("return $('several-note').textContent")
    )
    coloured = (
        "const film = chosenFilm(), values = Object.values(film.curves[0].values)[0];"
        "film.curves[0].values = { measured: values, other: values, one: values, more: values };"
        "film.legend = { measured: '#7F7F7F', body: '#0072B2' }; drawCharts();"
        "return $('history').data.filter(t => t.name !== 'reference').map(t => t.line.color)"
    )
    assert window.js(coloured) == ["#7F7F7F", "#009E73", "#CC79A7", "#56B4E9"], "without that of the forces"
    path = (
        "const places = [], g = { beginPath() {}, moveTo: x => places.push(-x), lineTo: x => places.push(x) };"
        "trace(g, [1, 0, 2, 0, NaN, 0, 4, 0, 5, 0], x => x, y => y); return places"
    )
    assert window.js(path) == [-1, 2, -4, 5], "a gap"


@needs_plotly
@needs_chromium
def test_in_a_browser_slices_logarithmic_axes_names_and_small_numbers(window, tmp_path):
    dims, shape = ("who", "k", "c"), (2, 3, 2)
    low = 1e-14 * np.arange(12.0).reshape(shape)
    data = xr.Dataset({"low": (dims, low), "status": (dims, np.zeros(shape, int))})
    data = data.assign_coords(who=["anna<b>", "b & c"], k=[1.0, 10.0, 100.0], c=[1.0, 2.0])
    window.open(explore(data, members=0).save(tmp_path / "slices.html"))
    window.until("document.body.dataset.ready")
    ticks = "return [...document.querySelectorAll('#map .xtick text')].map(t => t.textContent)"
    assert window.js(ticks) == ["anna<b>", "b & c"]
    assert window.js("return $('map')._fullLayout.yaxis.type") == "log"
    np.testing.assert_allclose(window.js("return $('map').data[0].y"), 10.0 ** np.array([-0.5, 0.5, 1.5, 2.5]))
    choices = "return [...document.querySelectorAll('#slices select option')].map(o => o.value)"
    assert window.js(choices) == ["1", "2"], "one value: of all, a cell would show the last member"
    window.js("$('as-lines').click()")
    window.until("$('map').data[0].type === 'parcoords'")
    assert window.js("return $('map').data[0].dimensions[0].ticktext") == ["anna<b>", "b & c"], "not HTML there"
    assert window.js("return $('map').data[0].dimensions.map(d => d.tickformat ?? d.tickvals)") == [
        ".2~f", [0, 1, 2], ".2~f", ".5~g",
    ]  # fmt: skip
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_frames_of_a_dark_notebook_are_dark_as_high_as_their_page_and_apart(shown, window, tmp_path):
    book = tmp_path / "notebook.html"
    frame = shown._repr_html_()
    book.write_text(f'<!doctype html><body data-jp-theme-light="false" style="width:1200px">{frame}{frame}</body>')
    window.open(book)
    frames = "[...document.querySelectorAll('iframe')]"
    window.until(f"{frames}.every(f => f.contentDocument.body.dataset.ready)")
    paper = f"return {frames}.map(f => f.contentWindow.getComputedStyle(f.contentDocument.body).backgroundColor)"
    assert window.js(paper) == ["rgb(21, 24, 27)"] * 2
    window.until(f"{frames}.every(f => f.contentDocument.documentElement.scrollHeight <= f.clientHeight)")
    other = next(m for m in shown.runs if m != shown.header["first"])
    window.js(f"return {frames}[0].contentWindow.eval('show({other}).then(() => 0)')")
    members = f"{frames}.map(f => f.contentWindow.eval('state.member'))"
    assert window.js(f"return {members}") == [other, shown.header["first"]]
    window.js("document.body.dataset.jpThemeLight = 'true'")
    window.until(f"({paper.removeprefix('return ')}).every(c => c === 'rgb(255, 255, 255)')")
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_a_frame_drawn_while_it_is_hidden_is_whole_once_it_is_seen(shown, window, tmp_path):
    """As in JupyterLab: a notebook in another tab, and one that hides for a moment while it takes another theme."""
    book = tmp_path / "hidden.html"
    notebook = '<!doctype html><body data-jp-theme-light="true" style="width:1048px"><div id="tab" hidden>'
    book.write_text(notebook + shown._repr_html_() + "</div>")
    window.open(book)
    frame = "document.querySelector('iframe')"
    room = "const box = e => e.getBoundingClientRect();"
    legend = (
        room + f"const [a, b] = {frame}.contentDocument.querySelectorAll('#history .legendtext');"
        "return box(a).width > 20 && box(a).right < box(b).left"
    )
    time.sleep(2.0)  # long enough to have drawn what cannot be seen
    window.js("document.querySelector('#tab').hidden = false")
    window.until(f"{frame}.contentDocument.body.dataset.ready")
    assert window.js(legend)
    choices = room + f"const all = {frame}.contentDocument.querySelectorAll('#charts select');"
    assert window.js(choices + "return [...all].every(e => box(e).right <= box(e.closest('div')).right)")
    window.js("document.querySelector('#tab').hidden = true; document.body.dataset.jpThemeLight = 'false'")
    time.sleep(0.5)
    window.js("document.querySelector('#tab').hidden = false")
    time.sleep(0.5)
    assert window.js(legend)
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_in_a_browser_categories_counts_and_members_without_a_value(scan, window, tmp_path):
    fell = np.array([True, False, False, False])
    who = scan.isel(stiffness=0).drop_vars(["stiffness", "mass"]).rename(mass="subject")
    who = who.assign(
        clearance=who.clearance.where(~fell), lost=who.clearance.where(fell), status=("subject", np.where(fell, 10, 0)),
        strides=("subject", [np.nan, 2.0, 2.0, 1.0], {"units": "1"}),
    ).assign_coords(subject=["anna", "ben", "cleo", "dan"]).drop_attrs()  # fmt: skip
    window.open(explore(who, members=0).save(tmp_path / "people.html"))
    window.until("document.body.dataset.ready")
    read = "return [...document.querySelectorAll('#map .{}tick text')].map(t => t.textContent)"
    assert window.js(read.format("x")) == ["anna", "ben", "cleo", "dan"]
    assert "anna" in window.js("return show(0).then(() => $('values').textContent)")
    squares = "$('map').data.filter(t => t.marker && [].concat(t.marker.symbol).includes('square'))"
    assert window.js(f"return {squares}[0].y[0]") < np.nanmin(who.clearance)
    assert window.js("return $('map').layout.annotations.length") == 1
    window.js("$('colour').value = 'strides'; $('colour').onchange()")
    scale = window.js(
        "const m = $('map').data.find(t => t.marker?.showscale).marker; return [m.colorscale, m.cmin, m.cmax]"
    )
    assert scale[1:] == [-0.5, 2.5] and [c for _, c in scale[0]] == [c for c in COUNTS[:3] for _ in range(2)]
    assert not window.js(
        "return [...document.querySelectorAll('select')].filter(s => s.scrollWidth > s.clientWidth).length"
    )
    window.js("scan.columns.find(c => c.name === 'strides').values.data.fill(2); drawMap()")
    assert window.js("return $('map').layout.annotations.map(a => a.text)")[-1] == "strides = 2 everywhere"
    assert not window.js("return $('map').data.some(t => t.marker?.showscale)"), "no colour bar of a single value"
    window.js("$('as-lines').click()")
    window.until("$('map').data[0].type === 'parcoords'")
    assert window.js("return $('map').data[0].customdata.length") == 3, "what most lack is left out"
    assert window.errors() == []


@pytest.mark.slow
@needs_plotly
@needs_chromium
def test_in_a_browser_a_run_plays_by_itself(shown, window, tmp_path):
    run = shown.recipe.run(shown.header["first"])
    window.open(explore(run).save(tmp_path / "run.html"))
    window.until("document.body.dataset.ready")
    assert window.js("return document.querySelectorAll('#overview')[0].offsetHeight") == 0
    assert window.js("return $('status').offsetHeight") == 0, "the heading is not repeated"
    places = (
        "const places = [], canvas = { measureText: () => ({}), fillText: (_, x, y) => places.push(`${x} ${y}`) };"
        "const g = new Proxy(canvas, { get: (known, name) => known[name] ?? (() => {}), set: () => true });"
        "const view = { title: 'above', span: [1, 1] }, film = { ...chosenFilm(), trails: [], forces: [], legend: {} };"
        "const box = { left: 0, width: 400, height: 300, first: true };"
        "drawScale(g, box, 100); drawLabels(g, film, view, box, 0); return places;"
    )
    assert len(set(window.js(places))) == 3, "scale, title and readout do not hide each other"
    cut = (
        "for (const [id, text] of [['px', 'theta_b'], ['py', 'theta_b_rate']]) $(id).selectedOptions[0].text = text;"
        "return ['px', 'py'].filter(id => { const one = $(id), wide = one.offsetWidth;"
        "one.style = 'flex-shrink: 0; max-width: none'; return wide < one.offsetWidth; })"
    )
    assert window.js(cut) == [], "names are whole"
    low, high, least, most = window.js(
        "const { layout, data } = $('phase');"
        "return [...layout.xaxis.range, Math.min(...data[0].x), Math.max(...data[0].x)]"
    )
    assert low < least and most < high, "the loop and its dot are whole"
    drawn = "return [...document.querySelectorAll('#phase .point')].filter(p => p.style.opacity !== '0').length"
    assert window.js(drawn) == 0, "a line, not beads"
    window.js("$('play').click()")
    window.until("+$('slider').value > 2")
    assert re.search(r"'rope_length': 28.0.*duration=12.0, samples=200", window.js("return $('lines').textContent"))
    assert window.errors() == []
