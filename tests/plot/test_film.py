"""Films are written as their name says, frame by frame."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.animation import FuncAnimation, writers
from PIL import Image

from jaxgait.models.jumper import pictures
from jaxgait.plot import film


def dot():
    """A dot that moves in three frames."""
    figure, ax = plt.subplots(figsize=(2, 2))
    (line,) = ax.plot([0.0], [0.0], "o")
    ax.set_xlim(-1.0, 3.0)
    return FuncAnimation(figure, lambda i: [line.set_data([i], [0.0])], frames=3, interval=200)


def test_a_gif_has_the_frames_and_the_pace_of_the_film(tmp_path, capsys):
    for fps, duration in ((None, 200), (10, 100)):
        path = film.save(dot(), tmp_path / "deep" / "dot.gif", fps=fps, progress=True)
        with Image.open(path) as image:
            assert image.n_frames == 3 and image.info["duration"] == duration
    assert "dot.gif: 100%" in capsys.readouterr().err
    assert not plt.get_fignums()


def test_a_name_that_tells_no_film_is_one_clear_line(tmp_path, monkeypatch):
    moving = dot()
    with pytest.raises(ValueError, match=r"dot\.png: the name of a film must end in \.gif or \.mp4"):
        film.save(moving, tmp_path / "dot.png")
    monkeypatch.setattr(writers, "is_available", lambda name: name == "pillow")
    with pytest.raises(ValueError, match=r"dot\.mp4: ffmpeg is not installed; install it, or write a \.gif"):
        film.save(moving, tmp_path / "dot.mp4")
    assert film.save(moving, tmp_path / "dot.gif").exists()


@pytest.mark.skipif(not writers.is_available("ffmpeg"), reason="no ffmpeg on this machine")
def test_an_mp4_is_written(tmp_path):
    assert film.save(dot(), tmp_path / "dot.mp4").stat().st_size > 500


def test_the_jumper_is_drawn_in_the_plane_or_in_space(tmp_path):
    time, bars = np.arange(2.0), len(pictures.PARTS)
    for name, bodies in (("rectilinear", np.zeros((2, bars, 2, 2))), ("3d", np.zeros((2, 15, 2, 3)))):
        moving = pictures.animate(time, bodies)
        assert plt.gcf().axes[0].name == name
        with Image.open(film.save(moving, tmp_path / f"{name}.gif")) as image:
            assert image.info["duration"] == 1000 / pictures.FPS
