"""`jaxgait fit`: a jump whose truth is known, what it prints and writes, and what is wrong with a request."""

import contextlib
import inspect
import io
import json
import re

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp

from jaxgait import cli, fit, simulate, with_parameters
from jaxgait.calibration.describe import _rounded
from jaxgait.cli.commands import Fit
from jaxgait.cli.options import check_files
from jaxgait.models.bungee.model import Bungee

TRUTH = {"stiffness": 26.0, "rope_length": 28.0}
NOISE = 0.2


def jump(times, noise=NOISE):
    """Heights in m of the true jump, solved by SciPy, with noise."""
    b, k, length = Bungee(), *TRUTH.values()

    def slope(t, y):
        drag = (b.linear_drag + b.quadratic_drag * abs(y[1])) * y[1]
        return [y[1], b.gravity - (k * max(y[0], 0.0) + drag) / b.mass]

    x = solve_ivp(slope, (0.0, times[-1]), [-length, 0.0], t_eval=times, rtol=1e-9, atol=1e-9, max_step=0.02).y[0]
    return b.ground - x + noise * np.random.default_rng(0).normal(size=len(times))


def table(path, times, heights, head="time (s),height (m)"):
    path.write_text(f"{head}\n" + "".join(f"{t:.10g},{h:.10g}\n" for t, h in zip(times, heights, strict=True)))
    return path


TIMES = np.arange(41) / 5.0
BOX = "--over stiffness=15:40 rope_length=2400:3400:cm"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    file = table(folder / "jump.csv", TIMES, jump(TIMES))
    options = f"--noise {NOISE} --samples 200 --starts 2 --profile"
    files = f"--json {folder}/f.json --out {folder}/f.nc --report {folder}/r"
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        cli.main(f"fit bungee --measured {file} {BOX} {options} {files}".split())
    return folder, output.getvalue()


def test_a_jump_gives_its_parameters_back_within_their_errors(done):
    record = json.loads((done[0] / "f.json").read_text())
    for name, value in TRUTH.items():
        assert abs(record["best"][name] - value) < 3.5 * record["standard_error"][name] < 0.05 * value
        low, high = record["profile"][name]["interval"]
        assert np.allclose((low, high), record["interval"][name], rtol=2e-3)
    assert record["minimum"] and record["determined"] and 0.5 < record["chi_square"] / record["degrees"] < 1.6
    assert np.std(record["curve"]["before"]) > 5.0 and record["model"] == "Bungee" and record["output"] == "height"


def test_the_description_has_units_and_a_verdict(done):
    output = done[1]
    assert "height in m, 41 points from 0 to 8 s; noise: 0.2 m" in output and "runs of 8 s" in output
    firm = r"^stiffness   = 2[56]\.\d+ ± 0\.\d+ N/m \(95 %: 2[56][\d.]* to 26[\d.]*\), was 20$"
    assert re.search(firm, output, re.MULTILINE)
    assert "all directions are determined" in output
    assert output.index("a minimum: another step would reduce chi-square by") < output.index("stiffness   = ")
    assert "profile of stiffness: 2" in output and "--set stiffness=2" in output


def test_numbers_have_the_digits_that_their_error_leaves():
    """An interval of 20 to 20 says nothing."""
    assert [_rounded(x, 1.4e-6) for x in (19.9999972, 20.0000003124)] == ["19.9999972", "20.00000031"]
    assert [_rounded(*one) for one in ((26.029512, 0.022), (0.0, 0.1), (26.0, np.nan))] == ["26.0295", "0", "26"]


def test_the_file_is_read_again_with_units(done):
    data = xr.load_dataset(done[0] / "f.nc", engine="h5netcdf")
    record = json.loads((done[0] / "f.json").read_text())
    assert data.best.sel(parameter="stiffness") == record["best"]["stiffness"] and data.time[-1] == 8.0
    assert data.unit.values.tolist() == ["N/m", "m"] and data.fitted.attrs["units"] == "m"
    assert data.attrs["minimum"] == 1 and data.attrs["measured"].endswith("jump.csv")
    rise = data["rise[stiffness]"]
    assert rise.attrs["interval_low"] < record["best"]["stiffness"] < rise.attrs["interval_high"]
    assert float(rise.min()) == 0.0 and float(rise.max()) > 3.8
    np.testing.assert_allclose(data.measured - data.fitted, -data.residual)


def test_the_report_is_one_page_that_needs_no_other_file(done):
    page = (done[0] / "r" / "report.html").read_text()
    assert "How it was computed: runs of " in page and ", rtol " in page
    pictures = sorted(path.name for path in (done[0] / "r").glob("*.png"))
    assert pictures == ["bounds.png", "curves.png", "profile_rope_length.png", "profile_stiffness.png"]
    assert page.count("data:image/png;base64,") == 4 and "<th>95 %, profile</th>" in page
    assert "Bungee: height fitted to jump.csv" in page and "<td>stiffness</td><td>20</td><td>2" in page


@pytest.fixture(scope="module")
def jumps(tmp_path_factory):
    """The files of two jumps, by people of 62 and 84 kg, the first one over a shorter time."""
    folder, files = tmp_path_factory.mktemp("jumps"), []
    for mass, name, end in ((62.0, "anna", 6.0), (84.0, "ben", 8.0)):
        run = simulate(with_parameters(Bungee(), TRUTH | {"mass": mass}), duration=end, samples=40)
        files.append(table(folder / f"{name}.csv", run.time.values, run.height.values))
    return files


@pytest.mark.slow
def test_several_curves_give_the_fit_of_their_trials(jumps, tmp_path, capsys):
    known = "--given mass=62000,84000g --noise 0.2 --starts 1 --loss huber --f-scale 2"
    files = f"--json {tmp_path}/f.json --out {tmp_path}/f.nc --report {tmp_path}/r"
    cli.main(
        f"fit bungee --measured {jumps[0]} {jumps[1]} --over stiffness=15:40 rope_length=24:34 {known} {files}".split()
    )
    output = capsys.readouterr().out
    assert "runs of 8 s" in output
    for name, mass, end in (("anna", 62, 6), ("ben", 84, 8)):
        assert f"{name}.csv: height in m, 41 points from 0 to {end} s; noise: 0.2 m; mass = {mass} kg" in output
        assert f"  {name}: residual: " in output
    record = json.loads((tmp_path / "f.json").read_text())
    assert record["best"] == pytest.approx(TRUTH, rel=1e-3) and "curve" not in record
    assert list(record["trials"]) == ["anna", "ben"]
    own = record["trials"]["ben"]
    assert own["given"] == {"mass": 84.0} and own["measured"] == str(jumps[1]) and own["output"] == "height"
    assert len(own["curve"]["before"]) == 41 and np.std(own["curve"]["before"]) > 5.0
    data = xr.load_dataset(tmp_path / "f.nc", engine="h5netcdf")
    assert (data.attrs["loss"], data.attrs["f_scale"]) == (record["loss"], record["f_scale"]) == ("huber", 2.0)
    assert data.attrs["measured"] == f"{jumps[0]}, {jumps[1]}" and data["fitted[ben]"].attrs["given"] == "mass = 84."
    assert record["parameters"]["mass"] == {"value": [62.0, 84.0], "unit": "kg"}
    assert record["parameters"]["stiffness"]["value"] == record["best"]["stiffness"]
    page = (tmp_path / "r" / "report.html").read_text()
    assert "Bungee: height fitted to anna.csv, ben.csv" in page and "mass = 62 kg" in page


@pytest.mark.slow
def test_what_is_known_of_one_curve_is_recorded(jumps, tmp_path, capsys):
    known = "--given mass=62 initial.v=0 --noise 0.2 --starts 1"
    files = f"--json {tmp_path}/f.json --out {tmp_path}/f.nc"
    cli.main(
        f"fit bungee --measured {jumps[0]} --set rope_length=28 --over stiffness=log:15:40 {known} {files}".split()
    )
    assert re.search(r"as parameters: --set stiffness=2[56][.\d]* mass=62 --initial v=0$", _out(capsys), re.M)
    record = json.loads((tmp_path / "f.json").read_text())
    assert record["given"] == {"mass": 62.0, "initial.v": 0.0} and record["parameters"]["mass"]["value"] == 62.0
    assert record["logarithmic"] == ["stiffness"] and record["bounds"] == {"stiffness": [15.0, 40.0]}
    data = xr.load_dataset(tmp_path / "f.nc", engine="h5netcdf")
    assert data.fitted.attrs["given"] == "mass = 62., initial.v = 0." and data.attrs["logarithmic"] == "stiffness"


def _out(capsys):
    return capsys.readouterr().out


def test_curves_of_one_person_have_one_motion_each():
    """Three curves of two people were an error: a motion would count twice."""
    check_files(Fit(model="knee", measured=("a.csv", "b.csv", "c.csv"), motion=("anna.json", "anna.json", "ben.json")))
    with pytest.raises(ValueError, match=r"a\.csv is given twice"):
        check_files(Fit(model="knee", measured=("a.csv", "a.csv"), motion=("anna.json", "ben.json")))


@pytest.mark.slow
def test_a_knee_is_fitted_to_walks_each_with_its_motion(capsys):
    gaits = "rajagopal_1.26ms hbm07_0.98ms"
    options = "--over damper.k=1e4:4e4 --set ground.steepness=1e4 damper.k=2.5e4 --starts 1 --iterations 2 --rtol 1e-4"
    with pytest.raises(SystemExit) as ended:
        cli.main(f"fit knee --measured {gaits} --motion {gaits} {options}".split())
    assert ended.value.code == 1  # two steps from there end at no minimum
    output = capsys.readouterr().out
    assert "rajagopal_1.26ms: residual: " in output and "hbm07_0.98ms: residual: " in output


@pytest.mark.slow
def test_what_a_jump_leaves_open_is_said_and_exits_with_1(tmp_path, capsys):
    file = table(tmp_path / "jump.csv", TIMES, jump(TIMES, 0.02))
    box = "--set rope_length=28 --over stiffness=15:40 mass=50:90 linear_drag=0.1:3 quadratic_drag=0.1:3"
    with pytest.raises(SystemExit) as ended:
        cli.main(f"fit bungee --measured {file} {box} --noise 0.02 --starts 1 --report {tmp_path}/r".split())
    output = capsys.readouterr().out
    assert ended.value.code == 1 and "the data do not determine" in output and "directions left open: 1" in output
    assert "not determined" in (tmp_path / "r" / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--measured nowhere.csv", "nowhere.csv: no such file; --measured expects a table of the measured curve (CSV)"),
        ("--measured nobody", "nobody: no such file, nor an embedded gait (there are "),
        ("--measured rajagopal_1.26ms", "contains a knee curve, but Bungee has no output 'knee_angle'"),
        ("--measured A_FILE --output heigth", "has no output 'heigth': did you mean 'height'"),
        ("--measured A_FILE --duration 5", "line 28, column time (s): 5.2 s lies beyond the end of the run, 5 s; give"),
        ("--measured A_FILE --strides 3", "Bungee has no period: give duration"),
        ("--measured A_FILE --noise -1", "noise must be a positive number in m"),
        ("--measured A_FILE --gradient gait", "gradient='gait' needs data over the phase"),
        ("--measured A_FILE --set mass=60 stiffness=2", "--set stiffness=2: the start 2 of stiffness lies outside"),
        ("--measured A_FILE --initial z=1", "the state of Bungee has no component 'z'"),
        ("--measured A_FILE --out fit.csv", "its name must end in .nc"),
        ("--measured A_FILE --report /proc/nowhere", "cannot write to /proc/nowhere"),
        ("--measured A_SHORT", "2 points are too few to estimate 2 parameters and the noise: give the noise"),
        ("--measured A_KNOWN --noise 0.1", "--noise and the column 'sd (m)' of "),
        ("--measured A_FILE A_KNOWN --given mass=62", "--given mass=62 has 1 value for 2 curves: give one for each"),
        (
            "--measured A_FILE A_KNOWN --given mass=62,84 --set mass=60",
            "mass is given to --set and to --given: give it once",
        ),
        ("--measured A_FILE A_KNOWN --given stiffness=1,2", "stiffness is given to --given and to --over"),
        ("--measured A_FILE A_KNOWN --given weight=1,2", "Bungee has no parameter 'weight'"),
        ("--measured A_FILE A_KNOWN --given mass", "--given expects name=a,b,..., got 'mass'"),
        (
            "--measured A_FILE A_KNOWN --motion a b c",
            "--motion has 3 motions for 2 curves: give one for all curves, or",
        ),
        ("--measured A_FILE A_KNOWN", "has no noise, but others have"),
    ],
)
def test_bad_requests_are_one_line(options, message, tmp_path, capsys):
    short, known = tmp_path / "short.csv", tmp_path / "known.csv"
    short.write_text("time (s),height (m)\n0,80\n1,75\n")
    known.write_text("time (s),height (m),sd (m)\n0,80,1\n1,75,1\n2,60,1\n")
    files = {"A_FILE": table(tmp_path / "jump.csv", TIMES, TIMES), "A_SHORT": short, "A_KNOWN": known}
    given = [str(files.get(word, word)) for word in options.split()]
    with pytest.raises(SystemExit) as ended:
        cli.main(["fit", "bungee", *BOX.split(), *given])
    output = capsys.readouterr().err
    assert ended.value.code == 2 and message in output and output.count("\n") == 1


def test_the_command_has_the_names_of_pythons_arguments():
    named = set(inspect.signature(fit).parameters) & set(Fit.__dataclass_fields__)
    options = "model measured over output noise loss f_scale gradient initial starts iterations"
    assert named == set(options.split())
