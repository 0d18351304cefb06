"""The sheet of a measured walk."""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxgait.motion.capture.tables import SPATIOTEMPORAL, side_means, spatiotemporal
from jaxgait.motion.capture.walk import measure, walk_stride
from jaxgait.motion.recording import GroundReaction, Recording
from jaxgait.motion.verdict import describe, judge
from jaxgait.plot.walk import _contacts, _gaps, sheet
from tests.motion import walker


@pytest.fixture(scope="module")
def walk():
    w = walker.walker(duration=5.0, seed=1)
    markers = dict(w.markers)
    markers["RKNE"] = markers["RKNE"].copy()
    markers["RKNE"][130:150] = float("nan")
    foot = 0.5 * (w.markers["RHEE"] + w.markers["RTOE"]) * np.array([1.0, 0.0, 1.0])
    plate = GroundReaction("plate 1", w.time, np.column_stack([w.force, 0 * w.time]), foot)
    return measure([Recording("<walk>", "walk.trc", w.rate, w.time, markers=markers, forces=(plate,))], mass=70.0)


def test_the_sheet_shows_strides_contacts_and_gaps(walk):
    figure = sheet(walk, judge(walk_stride(walk)))
    titles = [ax.get_title() for ax in figure.axes]
    assert {"knee flexion", "ground reaction", "gaps of the leg's markers"} <= set(titles)
    knee = figure.axes[titles.index("knee flexion")]
    assert len(knee.lines) >= len(walk.kept) + 1
    ankle = figure.axes[titles.index("ankle moment, dorsiflexion positive\n(grey: 2 of the 3 embedded gaits)")]
    assert ankle.get_ylabel() == "Nm/kg" and len(ankle.lines) >= len(walk.dynamics.strides) + 1
    gaps = figure.axes[titles.index("gaps of the leg's markers")]
    assert [label.get_text() for label in gaps.get_yticklabels()] == ["RKNE"]
    contacts = next(ax for ax in figure.axes if ax.get_title().startswith("stance"))
    assert contacts.get_xlim()[0] < walk.events[0].strikes[0], "the first heel strike is beside the axis"
    assert [text.get_text() for text in contacts.texts] == [walk.legs[0].recording.name]
    assert "band shifted to this mean" in " ".join(titles) and "not norms" in figure.legends[0].texts[0].get_text()
    feet = [trial.own._replace(leg=dataclasses.replace(trial.leg, gaps={})) for trial in walk.trials]
    trials = tuple(trial._replace(own=own) for trial, own in zip(walk.trials, feet, strict=True))
    whole = dataclasses.replace(walk, trials=trials)
    titles = [ax.get_title() for ax in sheet(whole, judge(walk_stride(whole))).axes]
    assert "gaps of the leg's markers" not in titles and titles[-2].startswith("stance")
    plt.close("all")


def test_an_unknown_toe_off_is_no_swing_and_gaps_are_drawn_over_all_trials(walk):
    first, *others = walk.strides
    trial, leg = walk.trials[0], walk.legs[0]
    later = dataclasses.replace(leg.recording, name="later", time=leg.recording.time + 3.0)
    gaps = {f"marker {i}": np.ones(later.time.size) for i in range(20)}
    second = dataclasses.replace(leg, recording=later, gaps=gaps)
    both = dataclasses.replace(
        walk,
        strides=(dataclasses.replace(first, toe_off=None), *others),
        trials=(trial, trial._replace(own=trial.own._replace(leg=second))),
    )
    contacts, missing = plt.figure().subplots(1, 2)
    _contacts(contacts, dataclasses.replace(both, trials=(trial,)))
    _gaps(missing, both)
    assert [bar.get_fill() for bar in contacts.patches].count(False) == 1
    assert contacts.get_title().endswith("outlined: toe-off unknown")
    assert missing.get_xlim() == (0.0, later.time[-1]) and missing.get_title().endswith(", and 5 more")
    plt.close("all")


def test_the_sheet_lists_the_spatiotemporal_parameters(walk):
    figure = sheet(walk, judge(walk_stride(walk)))
    ax = figure.axes[-1]
    (table,) = ax.tables
    rows = [[table[row, column].get_text().get_text() for column in range(3)] for row in range(len(SPATIOTEMPORAL))]
    assert [row[0] for row in rows] == [name.replace("_", " ") for name in SPATIOTEMPORAL]
    means = side_means(spatiotemporal(walk))
    assert rows[2] == ["speed", f"{means.speed.item():.4g} ± {means.speed_sd.item():.2g}", "m/s"]
    assert ax.get_title() == "mean and SD of the kept strides\n(stride length, speed: those of the footprints)"
    assert "stride length" not in describe(judge(walk_stride(walk)))  # it is the table's: one value
    assert f"drive at {walk.speed:.2f} m/s (speed of the hip)" in figure.get_suptitle()
    plt.close("all")
