"""What a page of the explorer holds: members, measures, units, colours and films."""

import re

import numpy as np
import pytest
import xarray as xr

import jaxgait
from jaxgait.plot.explorer import explore, page
from jaxgait.plot.explorer.page import phase_plane
from jaxgait.plot.explorer.playback import Pack, frames, rigid
from jaxgait.plot.explorer.selection import spread
from jaxgait.plot.scale import boundaries
from jaxgait.plot.table import table
from tests.plot.explorer import Gentle, needs_plotly, unpacked


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
    found = unpacked(explore(scan, model=Gentle(rope_length=28.0), members=0).packed())
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
    slopes = xr.DataArray([[np.pi], [0.0]], dims=("slope", "parameter"), coords={"parameter": ["slope"]})
    found = table(data.assign(peak_gradient=slopes))
    assert found.gradients["peak"]["slope"].tolist() == [180.0, 0.0]
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


@pytest.mark.slow
def test_motions_of_which_some_histories_were_kept_are_simulated():
    grid = {"mass": [60.0, 70.0]}
    found = jaxgait.ensemble(jaxgait.Bungee(), grid, duration=2.0, samples=9, trajectories="height", progress=False)
    said = []
    assert len(explore(found, say=said.append).runs) == 2 and said[0].startswith("simulating 2 of 2")
    enough = found.assign({name: found.height for name in ("x", "rope_force")})
    labels = explore(enough, say=said.append).header["labels"]
    assert len(said) == 1 and [*labels] == ["height", "x", "rope_force"], "what the scene reads"


@pytest.mark.slow
def test_a_store_whose_axes_are_turned_has_a_page(tmp_path):
    """Of which values are read when they are needed, and which xarray cannot index along both axes at once."""
    grid = {"mass": [60.0, 70.0], "stiffness": [15.0, 40.0]}
    found = jaxgait.ensemble(
        jaxgait.Bungee(), grid, duration=2.0, samples=9, trajectories=True, store=tmp_path / "scan.zarr", progress=False
    )
    assert len(explore(found.transpose()).runs) == 4


def test_members_not_run_yet_are_shown_and_not_chosen(scan):
    status = scan.status.copy()
    status[1:] = -1
    found = table(scan.assign(status=status))
    assert found.statuses[-1][0] == "not run yet" or ("not run yet", "#C8C8C8") in found.statuses
    assert set(spread(found, 12, None)) == {0, 1, 2}


def test_chosen_members_fill_the_box(scan):
    corners = spread(table(scan.assign(status=0 * scan.status)), 5, None)
    assert {0, 2, 9, 11} <= set(corners) and len(set(corners)) == 5
    one_unknown = scan.assign(status=0 * scan.status).assign_coords(mass=[np.nan, 60.0, 80.0, 100.0])
    assert {3, 5, 9, 11} <= set(spread(table(one_unknown), 8, None))


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


def test_without_plotly_the_error_says_what_to_install(shown, monkeypatch):
    monkeypatch.setattr(page.importlib.util, "find_spec", lambda name: None)
    page._library.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r'pip install "jaxgait\[explore\]"'):
        _ = shown.html
    page._library.cache_clear()
