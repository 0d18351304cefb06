"""Files of ground forces and their trials: which belong together, and under which names."""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.coordinates import angle_names
from jaxgait.motion.capture.trials import together, with_own_names
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import GroundReaction, Recording
from tests.motion import walker
from tests.test_examples import ROOT, blocks

W = walker.walker(duration=3.0)


def test_forces_go_with_the_trial_that_has_none(tmp_path):
    (tmp_path / "a.trc").write_text(walker.trc(W))
    (tmp_path / "a.mot").write_text(walker.forces(W))
    trial, forces = read_recording(tmp_path / "a.trc"), read_recording(tmp_path / "a.mot")
    (both,) = together([forces, trial])
    assert len(both.forces) == 1 and both.markers
    with pytest.raises(ValueError, match="at least one recording"):
        together([])
    for read in (lambda: together([forces]), lambda: motion_drive(str(tmp_path / "a.mot"))):
        with pytest.raises(MotionFormatError, match="contains ground forces only"):
            read()
    own = dataclasses.replace(trial, forces=forces.forces)
    with pytest.raises(MotionFormatError, match=r"a\.mot: ground forces in addition to those of .*a\.trc; leave one"):
        together([own, forces])  # else they would add up
    kinematics = Recording("ik", "ik.mot", trial.rate, trial.time, angles={n: trial.time for n in angle_names("right")})
    with pytest.raises(MotionFormatError, match="joint angles in addition to markers; leave one out"):
        together([trial, kinematics, forces])  # else the strides of one walk would count twice
    assert measure([trial, forces], mass=walker.MASS).dynamics is not None


def _named(found: Recording, file: str) -> Recording:
    return dataclasses.replace(found, file=file, name=file)


@pytest.mark.parametrize(
    ("order", "pairs"),
    [
        (["k1.trc", "k10.trc", "k10_f.mot", "k1_f.mot"], {"k1.trc": "k1_f.mot", "k10.trc": "k10_f.mot"}),
        (["w1.trc", "w2.trc", "w1_f.mot", "x_m.trc", "x_f.mot"], {"w1.trc": "w1_f.mot", "x_m.trc": "x_f.mot"}),
        (["w_fast_m.trc", "w_fast_f.mot", "w.trc"], {"w_fast_m.trc": "w_fast_f.mot"}),
        (["w.trc", "w_f.mot", "w_fast_m.trc", "w_fast_f.mot"], {"w.trc": "w_f.mot", "w_fast_m.trc": "w_fast_f.mot"}),
        (["w.trc", "w_fast.trc", "w_fast_f.mot", "w_f.mot"], {"w.trc": "w_f.mot", "w_fast.trc": "w_fast_f.mot"}),
        (["k1.trc", "k1b_m.trc", "k1b_f.mot"], {"k1b_m.trc": "k1b_f.mot"}),
        (["a/w.trc", "b/w.trc", "a/w.mot", "b/w.mot"], {"a/w.trc": "a/w.mot", "b/w.trc": "b/w.mot"}),
        (["b.trc", "a_1.trc", "a_1.mot"], {"a_1.trc": "a_1.mot"}),
        (["a.trc", "left.mot", "b.trc", "right.mot"], {"a.trc": "left.mot", "b.trc": "right.mot"}),
        (["a.trc", "b.trc", "one.mot", "two.mot"], "one|two"),  # else both would be of b
        (["one.mot", "a.trc", "b.trc"], "one"),
        (["k1.trc", "k2.trc", "k3.mot", "k10.mot"], "k10"),
        (["k1.trc", "k2.trc", "k10.mot", "k2f.mot"], "k2f"),
        (["w_fast_m.trc", "run.trc", "w_fast_f.mot"], "w_fast_f"),  # by name of the one, by turns of the other
        (["w.trc", "w_f.mot", "fast_w.trc", "w_fast_f.mot"], "w_fast_f"),  # else they would add up
    ],
)
def test_forces_of_several_trials_go_by_name_or_by_turns(order, pairs):
    time = np.arange(101) / 100.0
    body = Recording("", "", 100.0, time, {name: np.ones((101, 3)) for name in ("RASI", "LASI", "RHEE")})
    plate = GroundReaction("plate", time, np.tile([0.0, 700.0, 0.0], (101, 1)), None)
    forces = Recording("", "", 100.0, time, forces=(plate,))
    found = [_named(body if file.endswith("trc") else forces, file) for file in order]
    if isinstance(pairs, str):
        with pytest.raises(
            MotionFormatError, match=rf"({pairs})\.mot: ground forces with several trials, and it is not"
        ):
            together(found)
        return
    trials = {trial.file: trial for trial in together(found)}
    assert list(trials) == [file for file in order if file.endswith("trc")]
    assert {name for name, trial in trials.items() if trial.forces} == set(pairs)
    for name, other in pairs.items():
        assert f"the forces of {other} are of {name}" in trials[name].notes and len(trials[name].forces) == 1


def test_the_same_recording_twice_is_told_apart_by_what_it_is():
    time = np.arange(101) / 100.0
    body = Recording("walk", "walk.trc", 100.0, time, {name: np.ones((101, 3)) for name in ("RASI", "LASI", "RHEE")})
    assert len(together([body, dataclasses.replace(body)])) == 2


@pytest.mark.slow
@pytest.mark.parametrize("page", ["coming_from/opensim.md", "your_capture.md"])
def test_pages_measure_recordings(page, tmp_path, monkeypatch):
    """Their blocks that read recordings, with files of a synthetic walker."""
    w = walker.walker(duration=4.0)
    (tmp_path / "markers.trc").write_text(walker.trc(w))
    (tmp_path / "forces.mot").write_text(walker.forces(w))
    walker.c3d(w, tmp_path / "walk.c3d")
    joints = {"hip_flexion_r": w.thigh, "knee_angle_r": w.knee, "ankle_angle_r": w.ankle}
    pd.DataFrame({"time": w.time} | {k: np.degrees(x) for k, x in joints.items()}).to_csv(
        tmp_path / "long.csv", index=False
    )
    monkeypatch.chdir(tmp_path)
    reading = [block for block in blocks(ROOT / "docs" / page) if "read_recording(" in block]
    assert reading
    for block in reading:
        exec(compile(block, page, "exec"), {"__name__": "page"})
        plt.close("all")


@pytest.mark.parametrize("lab", ["y up, walking along +x", "z up, walking along -y"])
def test_a_trial_that_is_given_in_two_files_is_warned_of(lab):
    """Another export of it, or a part, in other axes and with rounded positions: its strides counted twice."""
    rounded = {k: x.round(4)[100:] for k, x in walker.turned(W, walker.LABS[lab]).markers.items()}
    one = Recording("walk", "walk.trc", W.rate, W.time, W.markers)
    said = lambda *trials: [x for x in with_own_names(trials)[1] if "contains the same motion as walk.trc" in x]
    assert len(said(one, Recording("part", "part.c3d", W.rate, W.time[100:], rounded))) == 1
    assert not said(one, Recording("later", "later.trc", W.rate, W.time[100:] - 1.0, rounded))
    assert not said(one, Recording("other", "other.trc", W.rate, W.time + 0.05, W.markers))  # of the same gait
