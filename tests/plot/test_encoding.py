"""Files have the colours and the speed of their films."""

import matplotlib.pyplot as plt
import pytest
from PIL import Image

from jaxgait.plot import film
from jaxgait.plot.encoding import times


@pytest.mark.slow
def test_a_colour_of_a_single_frame_is_itself(tmp_path):
    figure, ax = plt.subplots(figsize=(2, 2))
    look = lambda i: [ax.set_title(str(i)), ax.set_facecolor("#D55E00" if i == 13 else "white")]
    flash = film.Film(figure, look, frames=40)
    with Image.open(flash.save(tmp_path / "flash.gif")) as image:
        image.seek(13)
        middle = (image.width // 2, image.height // 2)
        assert image.convert("RGB").getpixel(middle) == (0xD5, 0x5E, 0x00)


@pytest.mark.parametrize("fps", [7.0, 24.0, 30.0, 50.0])
def test_frame_times_add_up(fps):
    found = times(1000, fps)
    assert sum(found) == pytest.approx(1e6 / fps, abs=5.0) and min(found) >= 20 and not any(t % 10 for t in found)
