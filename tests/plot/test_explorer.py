"""The explorer: members are simulated again, its lines give the same numbers, and the command writes its page."""

import dataclasses
import json
import shlex
import socket
import threading
import urllib.error
import urllib.request
from importlib import util

import jax
import numpy as np
import pytest
import xarray as xr

import jaxgait
from jaxgait import cli
from jaxgait.ensembles import again, ensemble, grid, people, product
from jaxgait.ensembles.recipe import run_recipe, scan_recipe
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.motion.drive import reference_gait
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.stride import Person
from jaxgait.parameters import parameters, with_parameters
from jaxgait.plot.explorer import explore, page
from jaxgait.plot.explorer.lines import _quoted, lines
from jaxgait.plot.explorer.playback import MAX_STEPS, samples_to_play
from jaxgait.plot.explorer.serving import server
from jaxgait.plot.scene import Scene, scene
from jaxgait.run import Sampling
from jaxgait.solve.dataset import provenance
from jaxgait.solve.schemes import scheme_for
from tests.plot.explorer import MOST_STEPS, RUN, line, needs_plotly, placed, unpacked
from tests.solve.test_event_driven import Hopping


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


@pytest.mark.slow
def test_a_page_pairs_histories_with_their_references_and_knows_the_stride(tmp_path):
    run = jaxgait.simulate(Prosthesis(), strides=2, samples=20)
    run.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    cli.main(["view", str(tmp_path / "run.nc"), "--over", "stride", "--out", str(tmp_path / "stride.svg")])
    assert "stride (%)" in (tmp_path / "stride.svg").read_text()
    page = explore(run)
    assert page.header["references"] == {"knee_angle": "measured_knee_angle"}
    (film,) = dict(unpacked(page.packed())["films"]).values()
    assert film["stride"] == pytest.approx(float(Prosthesis().period)) and film["curves"][0]["measured"] == [
        "measured leg"
    ]


def test_a_part_of_a_scan_keeps_its_fixed_values(scan):
    part = scan.isel(stiffness=2)
    xr.testing.assert_equal(again(part.isel(mass=1)), again(scan.isel(mass=1, stiffness=2)))
    assert explore(part, members=0).recipe.values["stiffness"].tolist() == [40.0] * 4
    start = scan.isel(stiffness=0).assign_coords({"initial.v": 3.0})
    with pytest.warns(UserWarning, match="the member does not end as in its scan: .* are not this member's"):
        assert float(again(start.isel(mass=1)).v[0]) == 3.0


def test_a_member_without_its_values_is_not_simulated_with_the_models_own(scan):
    """After `drop=True`, after an average, and under another name."""
    completed = scan.isel(mass=slice(1, None))
    for part in (
        scan.isel(mass=1).isel(stiffness=1, drop=True),
        scan.rename(stiffness="k").isel(mass=1, k=1),
        completed.mean("stiffness", keep_attrs=True).isel(mass=1),
    ):
        with pytest.raises(ValueError, match="its coordinates lack the values of stiffness, which its members were"):
            again(part)
    with pytest.raises(ValueError, match="this holds no values of a member: select one without drop=True"):
        again(scan.isel(mass=1, stiffness=1, drop=True))
    with pytest.raises(ValueError, match="this is one member of a scan, or an average"):
        explore(scan.isel(mass=1, stiffness=1))
    found = explore(completed.mean("stiffness", keep_attrs=True))
    assert not found.runs and "lack the values of stiffness" in found.header["notes"][0]
    with pytest.raises(ValueError, match=r"0\.5 is no code of a status or a retry: an average over members is not a"):
        explore(scan.isel(stiffness=slice(1, None)).mean("stiffness", keep_attrs=True))


def test_joined_scans_are_not_simulated_with_the_parameters_of_the_first(scan):
    other = scan.assign(x_end=scan.x_end + 1.0)  # as with another gravity, which only the attributes state
    joined = xr.concat([scan, other], "planet", combine_attrs="override")
    found = explore(joined)
    assert not found.runs and "the parameters of Bungee that vary along planet" in found.header["notes"][0]
    again(joined.isel(planet=0, mass=3, stiffness=1))
    with pytest.warns(UserWarning, match=r"in the scan it ended at x = .* m \(completed\), now at x = "):
        again(joined.isel(planet=1, mass=3, stiffness=1))
    with pytest.warns(UserWarning, match="2 of 2 motions do not end as in the scan, such as that of member"):
        found = explore(other, members=2)
    assert "not end as in the scan" in found.header["notes"][-1]


def test_the_command_prints_one_member_without_a_page(scan, tmp_path, capsys):
    scan.isel(mass=1, stiffness=1).to_netcdf(tmp_path / "one.nc", engine="h5netcdf")
    cli.main(["view", str(tmp_path / "one.nc")])
    shown = capsys.readouterr()
    assert "clearance" in shown.out and "no page: this is one member of a scan" in shown.err


def test_masked_members_are_told_apart_and_not_chosen(scan):
    found = explore(scan.where(scan.mass > 50.0), members=4)
    assert ("masked (no status)", "#C8C8C8") in found.rows.statuses and min(found.runs) >= 3
    assert unpacked(found.packed())["retried"].tolist() == [0] * 12


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
    walks = xr.Dataset({"status": ("subject", [0, 0])}, who.labels, made | who.attrs)
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
    run = jaxgait.simulate(Bungee(), max_steps=MOST_STEPS, **RUN)
    assert lines(run_recipe(run))["shell"].endswith("--out again.nc")


def test_lines_of_starts_and_retries(scan):
    start = scan.isel(stiffness=0, drop=True).rename({"mass": "initial.v"})
    made = scan_recipe(start.assign_attrs(member_values='["initial.v"]'), Bungee())
    text = line(made, 1)
    assert "initial_state={'v': 60.0}" in text["python"] and "--initial v=60.0" in text["shell"]
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_a_run_from_the_models_own_start_names_no_start(scan, kind):
    run = jaxgait.simulate(Bungee(), duration=1.0, samples=2, initial_state=Bungee().initial_state())
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
        messages == ["Unseen has no scene to show (see jaxgait.plot.scene): numbers and commands only."]
        and not found.runs
    )
    assert found.header["why"] == messages[0] and "lines" in found.header


def test_bad_input_is_one_clear_sentence(scan, tmp_path):
    with pytest.raises(ValueError, match="no measure 'clearence': the scan has clearance, peak_rope_force"):
        explore(scan, measure="clearence")
    with pytest.raises(ValueError, match="has no members"):
        explore(scan.isel(mass=slice(0, 0)))
    with pytest.raises(ValueError, match="this is not a scan"):
        explore(xr.Dataset({"a": 1.0}))
    with pytest.raises(FileNotFoundError, match=r"nowhere.nc: no such file"):
        explore(tmp_path / "nowhere.nc")
    with pytest.raises(ValueError, match="members must be a whole number, at least 0"):
        explore(scan, members=-1)
    with pytest.raises(ValueError, match="measure colours the members of a scan, and this is one run: got 'height'"):
        explore(jaxgait.simulate(Bungee(), max_steps=MOST_STEPS, **RUN), measure="height")


def test_members_of_a_latin_hypercube_are_simulated_for_playback(scan):
    drawn = scan.isel(stiffness=0).rename(mass="sample")
    found = explore(drawn.drop_vars("sample").assign_coords(mass=("sample", scan.mass.values)), members=2)
    assert len(found.runs) == 2 and (found.header["x"], found.header["y"]) == ("mass", "clearance")


def test_kept_trajectories_are_played_as_they_are(shown):
    kept, messages = shown.recipe.runs(list(shown.runs)), []  # as many as in the page: one program
    found = explore(kept, members=2, say=messages.append)
    assert not messages and len(found.runs) == 2
    for member, run in found.runs.items():
        np.testing.assert_array_equal(run.x, kept.x.isel(member=member))


def lamp(self, run):
    return Scene(run.time.values, (), (), readouts={"phase": (run.phase.values, "")})


class Shown(Hopping):
    """Draws the phase of its motion."""

    scene = lamp


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, *(pytest.param(x, marks=pytest.mark.slow) for x in (False, ["h", "v"]))])
def test_scenes_of_members_may_read_the_phase(kept):
    members = ensemble(Shown(), {"speed": [0.5, 1.0]}, samples=40, trajectories=kept)
    messages = []
    found = explore(members, say=messages.append)
    assert len(messages) == (kept is not True), "simulated again if the scan has no phases"
    for member, run in found.runs.items():
        samples = 40 if kept is True else 280  # of those that are simulated, as many as are played
        alone = jaxgait.simulate(Shown(speed=float(members.speed[member])), samples=samples)
        np.testing.assert_array_equal(run.phase, alone.phase)
        np.testing.assert_array_equal(run.event_name, alone.event_name)
    _, film = unpacked(found.packed())["films"][0]
    (phase,) = (curve["values"]["phase"] for curve in film["curves"] if curve["name"] == "phase")
    events = int(found.runs[0].sizes["event"])
    assert np.isnan(phase["values"]).sum() == events > 0, "not joined where it jumps"
    assert len(phase["time"]) == len(phase["values"]) == len(film["time"]) + 3 * events
    if kept == ["h", "v"]:
        with pytest.raises(ValueError, match="an animation needs all states and outputs, but the run has no phase"):
            scene(members.isel(speed=0))


@pytest.mark.slow
def test_members_of_a_scan_of_one_sample_are_played_densely():
    """The scan has only the start and the end of its members, between which a film would be a straight line."""
    scan = ensemble(Bungee(), {"mass": [60.0, 80.0]}, observe=["clearance"], duration=10.0, samples=1)
    found = explore(scan, members=1)
    assert found.runs[0].sizes["time"] == MAX_STEPS + 1
    there = {}
    exec(line(found.recipe, 0)["python"], there)
    np.testing.assert_allclose(there["run"].height, found.runs[0].height, rtol=1e-6)
    assert [samples_to_play(*own) for own in [(1, 20), (70, 2), (400, 5), (200, None)]] == [100, 140, 400, 200]


def test_commands_say_which_class_must_be_defined_first(scan, monkeypatch):
    class Jump(Bungee):
        pass

    there = {}
    monkeypatch.setattr(Jump, "__module__", "__main__")
    text = line(scan_recipe(scan, Jump(rope_length=28.0)), 0)["python"]
    assert "\n# Jump is of a script, a notebook or a function: define it here, or import it\n" in text
    assert "__main__" not in text
    exec(text.replace("duration=12.0", "duration=0.1"), there | {"Jump": Jump})


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
    cli.main(["view", str(file), "--json", "-"])
    assert json.loads(capsys.readouterr().out)["members"] == scan.status.size
    assert (tmp_path / "scan.html").read_text() == "mine", "the numbers alone need no page"
    (tmp_path / "scan.zarr").mkdir()
    cli.main(["view", str(file), "--members", "0"])
    assert page.is_page(tmp_path / "scan.nc.html"), "scan.zarr has another one"


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
    jaxgait.simulate(Bungee(), max_steps=MOST_STEPS, **RUN).to_netcdf(run, engine="h5netcdf")
    for arguments, message in (
        (["--variables", "x", "--out", str(tmp_path / "a.gif")], "--variables names what a picture of a run draws"),
        (["--variables", "x", "--out", str(tmp_path / "a.html")], "--variables names what a picture of a run draws"),
        (["--variables", "x"], "--variables names what a picture of a run draws"),
        (["--over", "stride", "--out", str(tmp_path / "a.html")], "--over names the axes of a picture: give --out"),
        (["--over", "mass", "--out", str(tmp_path / "a.png")], "is one run: leave it out, or give --over stride"),
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
    assert "no page: this is not a scan" in capsys.readouterr().err


@needs_plotly
def test_any_member_is_simulated_when_it_is_asked_for(scan, shown):
    missing = next(m for m in range(12) if m not in shown.runs and not scan.status.values.ravel()[m])
    with server(shown) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        at = f"http://127.0.0.1:{running.server_port}"
        with socket.create_connection(("127.0.0.1", running.server_port)):  # which asks for nothing
            assert page.MARK in urllib.request.urlopen(f"{at}/", timeout=10.0).read(1000).decode()
        for host in ("127.0.0.1", "localhost"):  # as of port 80
            assert urllib.request.urlopen(urllib.request.Request(f"{at}/", headers={"Host": host})).status == 200
        film = unpacked(urllib.request.urlopen(f"{at}/member/{missing}").read())["film"]
        for path, code in ((f"{at}/member/12", 404), (f"{at}/secrets", 404)):
            with pytest.raises(urllib.error.HTTPError, match=str(code)):
                urllib.request.urlopen(path)
        for host in ("example.org:80", "localhost.example.org"):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(urllib.request.Request(f"{at}/", headers={"Host": host}))
        running.shutdown()
    assert film["histories"]["x"][-1] == pytest.approx(float(scan.x_end.values.ravel()[missing]), rel=1e-4)


@pytest.mark.parametrize(("word", "quoted"), [("mass={{mass}}", "mass={{mass}}"), ("q[1]={{q[1]}}", "'q[1]={{q[1]}}'")])
def test_names_of_elements_are_quoted_in_the_shell_line(word, quoted):
    """Brackets are patterns of file names to a shell."""
    assert _quoted(word) == quoted
