"""Films are written in the format of their extension, frame by frame."""

import gc
import os
import re
import subprocess
import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.animation import PillowWriter, writers
from PIL import Image

import jaxgait
from jaxgait.models.bungee.model import Bungee
from jaxgait.plot import encoding, film
from jaxgait.plot.film_layout import pace_text
from jaxgait.plot.scene import Curve, Limb, Scene, View, cut_off, scene
from jaxgait.plot.style import PALETTE


@pytest.fixture(autouse=True)
def nothing_open():
    plt.close("all")
    yield
    plt.close("all")


def dot():
    """A dot that moves in three frames."""
    figure, ax = plt.subplots(figsize=(2, 2))
    (line,) = ax.plot([0.0], [0.0], "o")
    ax.set_xlim(-1.0, 3.0)
    return film.Film(figure, lambda i: [line.set_data([i], [0.0])], frames=3, interval=200)


def without_ffmpeg(monkeypatch):
    monkeypatch.setattr(writers, "is_available", lambda name: name != "ffmpeg")
    monkeypatch.setattr(encoding.importlib.util, "find_spec", lambda name: None)


def frame_times(path):
    """In ms."""
    with Image.open(path) as image:
        return [image.seek(i) or image.info["duration"] for i in range(image.n_frames)]


LIMITED = """
import resource, sys
from tests.plot.test_film import dot
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    dot().save(sys.argv[1])
except OSError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no such limits here")
@pytest.mark.parametrize(
    ("kind", "why"),
    [("gif", "File too large"), pytest.param("mp4", "the encoder failed: is the disk full?", marks=pytest.mark.slow)],
)
def test_a_full_disk_leaves_the_old_film(kind, why, tmp_path):
    """A GIF that is cut off between two frames is a shorter one."""
    path = dot().save(tmp_path / f"dot.{kind}")
    before = path.read_bytes()
    assert len(before) > 1000
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True, check=False)
    assert done.stdout == f"cannot write {path}: {why}\n" and not done.stderr
    assert path.read_bytes() == before and [*tmp_path.iterdir()] == [path]


def test_other_failures_of_the_encoder_do_not_blame_the_disk(tmp_path):
    with pytest.raises(OSError, match=r"dot\.mp4: the encoder failed: .*Encoder not found"):
        dot().save(tmp_path / "dot.mp4", codec="nonsense")
    assert not list(tmp_path.iterdir())


def test_a_gif_has_the_frames_and_the_pace_of_the_film(tmp_path, capsys):
    for fps, times in ((None, [200] * 3), (10, [200, 100, 200]), (2.5, [400] * 2)):
        path = dot().save(tmp_path / "deep" / "dot.gif", fps=fps, progress=True)
        assert frame_times(path) == times
    assert "dot.gif: 100%" in capsys.readouterr().err
    assert not plt.get_fignums()


def test_every_frame_is_drawn_once(tmp_path):
    moving, drawn = dot(), []
    plt.gcf().canvas.mpl_connect("draw_event", drawn.append)
    moving.save(tmp_path / "dot.gif")
    assert len(drawn) == 3


def test_a_name_that_tells_no_film_is_one_clear_line(tmp_path, monkeypatch, capsys):
    moving = dot()
    with pytest.raises(ValueError, match=r"dot\.png: the name of an animation must end in \.gif or \.mp4"):
        moving.save(tmp_path / "dot.png")
    without_ffmpeg(monkeypatch)
    with pytest.raises(ValueError, match=r"dot\.mp4: ffmpeg is missing: pip install 'jaxgait\[film\]', or"):
        moving.save(tmp_path / "dot.mp4", progress=True)
    assert not capsys.readouterr().err, "no bar of a film that is not written"
    assert moving.save(tmp_path / "dot.gif").exists()


def test_an_mp4_is_written(tmp_path):
    assert dot().save(tmp_path / "dot.mp4").stat().st_size > 500


def test_a_notebook_plays_a_film_and_does_not_show_its_figure_again(monkeypatch, capsys):
    moving = dot()
    assert moving._repr_html_().startswith('<video controls autoplay loop muted src="data:video/mp4;base64,AAAA')
    assert not plt.get_fignums()
    without_ffmpeg(monkeypatch)
    with pytest.warns(UserWarning, match=r"becomes a GIF, which is large: pip install 'jaxgait\[film\]'"):
        assert moving._repr_html_().startswith('<img alt="film" src="data:image/gif;base64,R0lGOD')
    assert not capsys.readouterr().err, "a bar is only for whoever watches"


def test_matplotlibs_own_ways_to_play_a_film_work_too(tmp_path):
    assert "<img id=" in dot().to_jshtml()
    assert dot().save(tmp_path / "dot.html", writer="html", fps=4.0).read_text().startswith("\n<link")
    with plt.rc_context({"animation.frame_format": "svg"}):
        dot().save(tmp_path / "vector.html", writer="html")
    assert len(list((tmp_path / "vector_frames").glob("*.svg"))) == 3


@pytest.mark.parametrize("option", [{"fps": 0}, {"fps": -1}, {"dpi": 0}, {"dpi": float("nan")}, {"fps": 5}])
def test_an_impossible_film_leaves_nothing_behind(tmp_path, option):
    twice = option == {"fps": 5}
    message = "the writer has its own fps" if twice else f"{next(iter(option))} must be a positive number"
    option |= {"writer": PillowWriter(fps=20)} if twice else {}
    with pytest.raises(ValueError, match=message):
        dot().save(tmp_path / "deep" / "dot.gif", **option)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def jump():
    return jaxgait.simulate(Bungee(), duration=6.0, samples=60)


@pytest.mark.slow
def test_films_are_not_among_the_open_figures_of_pyplot(jump):
    """Which warns of more than 20, and shows those of a cell of a notebook again below it."""
    moving = film.animate(jump, speed=4.0, fps=10)
    assert not plt.get_fignums()
    assert "<img id=" in moving.to_jshtml()


def test_a_film_moves_at_the_speed_that_it_says(jump, tmp_path):
    moving = film.animate(jump, speed=4.0, fps=10)
    title = moving.figure.axes[0].get_title(loc="left")
    assert "t = 0.00 s" in title and "height 80.0 m" in title and title.endswith("4 x real time")
    with Image.open(moving.save(tmp_path / "jump.gif")) as image:
        assert image.n_frames == 16 and image.info["duration"] == 100


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "fps"), [(3.0, 2), (7.0, 5), (8.0, 2), (20.0, 1)])
@pytest.mark.parametrize("saved", [None, 1, 30])
def test_few_frames_move_at_the_speed_that_the_title_says(jump, speed, fps, saved, tmp_path):
    moving = film.animate(jump, speed=speed, fps=fps)  # of 6 s
    shown = [float(re.search(r"t = (\S+) s", _title(moving, i))[1]) for i in range(moving._save_count)]
    assert shown[-1] == 6.0 and np.diff(shown) == pytest.approx(speed / moving._own_rate, abs=0.011)
    assert _title(moving, 0).endswith(f"{speed:g} x real time")
    times = frame_times(moving.save(tmp_path / "jump.gif", fps=saved, dpi=20))
    steps = max(1, int(6.0 / speed * (saved or fps)))
    assert sum(times) == pytest.approx(1000.0 * 6.0 / speed * (1.0 + 1.0 / steps), abs=10.0), "and the last frame"


@pytest.mark.parametrize(
    ("own", "fps"),
    [
        pytest.param(25, 50, marks=pytest.mark.slow),
        (30, None),
        pytest.param(60, None, marks=pytest.mark.slow),
        (25, 12.5),
    ],
)
def test_no_rate_changes_the_speed(jump, tmp_path, own, fps):
    times = frame_times(film.animate(jump, speed=6.0, fps=own).save(tmp_path / "jump.gif", fps=fps, dpi=20))
    assert sum(times) == pytest.approx(1000.0, abs=1500.0 / (fps or own)), "and a frame"
    assert min(times) >= 20, "browsers show shorter ones for longer"


def test_a_run_that_ended_early_says_so_at_its_end(jump):
    fell = jump.assign_attrs(status_text="ended early: fell")
    moving = film.animate(fell, speed=1.0, fps=10)
    assert "(fell)" not in _title(moving, 59)
    for frame in (60, 60 + round(10 * film.HOLD)):
        assert _title(moving, frame).startswith("t = 6.00 s (fell)")
    assert moving._save_count == 61 + round(10 * film.HOLD)
    whole = film.animate(jump, speed=1.0, fps=10)
    assert "(" not in _title(whole, 60).partition("height")[0] and whole._save_count == 61
    assert not any(cursor.get_clip_on() for cursor in whole._moving), "whole at the end of the axis"


@pytest.mark.parametrize("slower", [4, 1024, 1500])
def test_slow_motion_is_a_ratio_of_whole_numbers(slower):
    assert pace_text(1 / slower) == f"slow motion 1/{slower}"


def test_by_itself_a_film_is_in_real_time_or_in_slow_motion(jump):
    assert _title(film.animate(jump, fps=5), 0).endswith("real time")
    slow = film.animate(jump.isel(time=slice(0, 11)), fps=5)  # 1 s
    assert _title(slow, 0).endswith("slow motion 1/4")


def test_runs_side_by_side_stay_where_they_ended(jump):
    short = jump.isel(time=slice(0, 31)).assign_attrs(status_text="ended early: wet")
    moving = film.animate({"long": jump, "short": short}, speed=1.0, fps=5)
    assert _title(moving, 30).startswith("long\nt = 6.00 s   height")
    _, second = filter(None, (ax.get_title(loc="left") for ax in moving.figure.axes))
    assert second.startswith("short\nt = 3.00 s (wet)")
    panels = [ax for ax in moving.figure.axes if ax.get_ylabel()]
    assert {ax.get_xlim() for ax in panels} == {(0.0, 6.0)}, "all over the same time"


def test_legends_and_captions_lie_above_the_scenes(jump):
    moving = film.animate({"one": jump, "other": jump}, speed=4.0, fps=5)
    figure, views = moving.figure, [ax for ax in moving.figure.axes if ax.get_title(loc="left")]
    figure.draw_without_rendering()
    top = max(ax.get_window_extent().y1 for ax in views)
    captions = [ax._left_title.get_window_extent() for ax in views]
    (legend,) = (legend.get_window_extent() for legend in figure.legends)
    assert top <= legend.y0 and legend.y1 <= figure.bbox.y1 + 1, "one for both"
    assert len(captions) == 2 and not any(box.overlaps(legend) for box in captions)


def test_frames_are_those_of_a_plain_drawing(jump, tmp_path, monkeypatch):
    """Panels of curves, with their legends, are drawn once; a film can be written again, in another resolution."""
    curves = (Curve("position", "m", {"below the ledge": jump.x.values + 30.0, "below the rope": jump.x.values}),)
    monkeypatch.setattr(film, "scene", lambda run, model: scene(run, model)._replace(curves=curves))
    moving = film.animate(jump, speed=8.0, fps=4)
    paths = [moving.save(tmp_path / f"{dpi}.gif", dpi=dpi) for dpi in (80, 50)]
    assert moving._moving
    moving._moving = ()
    for path, dpi in zip(paths, (80, 50), strict=True):
        plain = moving.save(tmp_path / "plain.gif", dpi=dpi)
        with Image.open(path) as ours, Image.open(plain) as theirs:
            assert ours.n_frames == theirs.n_frames > 3
            for frame in range(ours.n_frames):
                ours.seek(frame), theirs.seek(frame)
                np.testing.assert_array_equal(*(np.asarray(image.convert("RGB")) for image in (ours, theirs)))


@pytest.mark.slow
def test_colours_of_a_gif_are_those_of_its_frames_nearly_and_white_is_white(jump, tmp_path):
    """One palette for all frames makes a file half as large as matplotlib's with a palette for each."""
    moving = film.animate(jump, speed=2.0, fps=4)
    ours, theirs = moving.save(tmp_path / "ours.gif"), moving.save(tmp_path / "theirs.gif", writer="pillow")
    assert ours.stat().st_size < 0.7 * theirs.stat().st_size
    with Image.open(ours) as one, Image.open(theirs) as other:
        assert one.n_frames == other.n_frames > 10
        for frame in range(one.n_frames):
            one.seek(frame), other.seek(frame)
            a, b = (np.asarray(image.convert("RGB")).astype(int) for image in (one, other))
            np.testing.assert_array_equal(a[0, 0], [255, 255, 255])
            difference = np.abs(a - b).max(axis=-1)
            assert difference.mean() < 1.5 and np.mean(difference > 32) < 1e-3


def test_a_film_is_as_wide_as_half_a_slide(jump, tmp_path):
    with Image.open(film.animate(jump, speed=20.0, fps=2).save(tmp_path / "jump.gif")) as image:
        assert abs(image.width - film.WIDTH) <= 1


def test_a_film_of_what_leaves_its_view_warns_once_with_a_view_that_holds_it(jump, monkeypatch):
    near = scene(jump)
    near = near._replace(views=(View(near.views[0].centre, (100.0, 10.0)),))
    monkeypatch.setattr(film, "scene", lambda run, model: near)
    with pytest.warns(UserWarning, match="shapes .*leave the view of 100 m x 10 m") as found:
        film.animate({"one": jump, "other": jump}, fps=5)
    assert len(found) == 1
    wide, tall = (float(x) for x in re.search(r"one of (\S+) m x (\S+) m", str(found[0].message)).groups())
    assert not cut_off(near._replace(views=(View(near.views[0].centre, (wide, tall)),)))


def test_a_film_of_few_samples_warns(jump):
    few = jump.isel(time=slice(None, None, jump.sizes["time"] // 5))
    with pytest.warns(
        UserWarning, match=r"moves in jumps, .*: the run 'thin' has [\d.]+ samples per second of the film"
    ):
        film.animate({"thin": few, "whole": jump}, speed=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        film.animate(jump)


def test_a_wall_may_extend_beyond_the_view():
    wall = Limb(np.array([[[-9.0, 0.0], [9.0, 0.0]], [[-9.0, 0.1], [9.0, 0.1]]]), 0.1)
    view = View(np.zeros((1, 2)), (2.0, 2.0))
    assert not cut_off(Scene(np.arange(2.0), (wall,), (view,)))


def test_curves_have_the_colours_of_the_scene_and_no_others(jump, monkeypatch):
    curves = (Curve("load", "N", {"one": jump.x.values, "left": jump.x.values, "other": jump.x.values}),)
    shown = scene(jump)._replace(curves=curves, legend={"left": PALETTE[1], "right": PALETTE[0]})
    monkeypatch.setattr(film, "scene", lambda run, model: shown)
    moving = film.animate(jump, fps=5)
    (panel,) = (ax for ax in moving.figure.axes if ax.get_ylabel())
    assert [line.get_color() for line in panel.lines[:3]] == [PALETTE[2], PALETTE[1], PALETTE[4]]  # [3]: forces


def test_a_film_of_a_file(jump, tmp_path):
    jump.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    for shown in (tmp_path / "run.nc", {"file": str(tmp_path / "run.nc"), "run": jump}):
        assert jaxgait.animate(shown, speed=20.0, fps=1).save(tmp_path / "jump.gif").exists()


@pytest.mark.usefixtures("only_new_garbage")
def test_a_film_that_is_not_shown_goes_without_a_word(jump):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moving = film.animate(jump, fps=5)
        moving = film.animate(jump, fps=5)
        del moving
        gc.collect()


def test_impossible_films_are_one_clear_line(jump):
    for arguments, message in (({"speed": 0.0}, "speed must be"), ({"fps": 0}, "fps must be")):
        with pytest.raises(ValueError, match=message):
            film.animate(jump, **arguments)
    with pytest.raises(ValueError, match="an animation needs at least one run, got none"):
        film.animate({})


def _title(moving, frame):
    """The title of the first view in a frame."""
    moving._func(frame)
    return moving.figure.axes[0].get_title(loc="left")
