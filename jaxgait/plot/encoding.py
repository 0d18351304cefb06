"""Writes files of films: an MP4 encoder; GIF with one palette and exact times; frames that redraw only what moves."""

from __future__ import annotations

import collections
import contextlib
import importlib.util
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import PillowWriter, writers
from matplotlib.artist import Artist
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure
from PIL import Image

WRITERS = {"gif": "one palette", "mp4": "ffmpeg"}
"""Names of matplotlib's writers, by the extension of a film."""
INSTALL = "pip install 'jaxgait[film]'"
"""Installs an MP4 encoder."""
MAX_RATE = 50.0
"""Most frames per second of a GIF: browsers show frames of less than 2 cs for 10 cs."""


@writers.register(WRITERS["gif"])
class _OnePalette(PillowWriter):
    """Writes GIF files with one palette for all frames: faster, and half as large as with one for each."""

    def setup(self, *arguments: Any, **options: Any) -> None:
        super().setup(*arguments, **options)
        self._counts = collections.Counter[Any]()
        self._packed: list[bytes] = []

    def grab_frame(self, **options: Any) -> None:
        """Compresses a frame and counts its colours: at the end that would take most of the encoding's time."""
        super().grab_frame(**options)
        frame = self._frames.pop().convert("RGB")  # type: ignore[attr-defined]  # of matplotlib's writer, undeclared
        self._packed.append(zlib.compress(frame.tobytes(), level=1))
        for count, colour in frame.getcolors(frame.width * frame.height):
            self._counts[colour] += count

    def finish(self) -> None:
        colours = np.array([sorted(self._counts, key=self._counts.__getitem__)], np.uint8)
        few = Image.fromarray(colours).quantize(method=Image.Quantize.MAXCOVERAGE)
        index = lambda image: image.quantize(palette=few, dither=Image.Dither.NONE)
        # Pillow's few colours only approximate the film's: white would be grey. Each is replaced by the most frequent
        # one that it stands for.
        palette = np.zeros((256, 3), np.uint8)
        palette[np.asarray(index(Image.fromarray(colours)))] = colours

        def unpacked() -> Iterator[Image.Image]:
            for frame in self._packed:
                image = index(Image.frombytes("RGB", self.frame_size, zlib.decompress(frame)))
                image.putpalette(palette.ravel().tolist())
                yield image

        frames, durations = unpacked(), times(len(self._packed), self.fps)
        next(frames).save(self.outfile, save_all=True, append_images=frames, duration=durations, loop=0)


def times(count: int, fps: float) -> list[int]:
    """Times of `count` frames in ms at `fps` in 1/s: whole centiseconds, as the format wants, with exact sums.

    Examples:
        >>> from jaxgait.plot.encoding import times
        >>> times(6, 30.0)
        [30, 40, 30, 30, 40, 30]
    """
    return (10 * np.diff(np.round(100.0 * np.arange(count + 1) / fps)).astype(int)).tolist()


@contextlib.contextmanager
def drawn_once(canvas: FigureCanvasBase) -> Iterator[None]:
    """Suppresses matplotlib's extra drawing of every frame for the screen (`Animation._post_draw`).

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.encoding import drawn_once
        >>> with drawn_once(plt.figure().canvas):
        ...     plt.draw()  # does nothing
    """
    canvas.draw_idle = lambda *args, **kwargs: None
    try:
        yield
    finally:
        del canvas.draw_idle


@contextlib.contextmanager
def only_moving(figure: Figure, moving: Sequence[Artist]) -> Iterator[None]:
    """Draws the axes of the moving artists only once, and then only the artists: axes take half of a frame's time.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.encoding import only_moving
        >>> figure, ax = plt.subplots()
        >>> dot = ax.plot(0.0, 0.0, "o")
        >>> with only_moving(figure, dot):
        ...     figure.canvas.draw()
    """
    backdrop = _Backdrop(moving)
    figure.add_artist(backdrop)
    try:
        yield
    finally:
        backdrop.remove()
        plt.setp(backdrop.panels, visible=True)


class _Backdrop(Artist):
    """The axes of moving artists as pixels behind everything else, and the artists in front of them."""

    zorder = -1

    def __init__(self, moving: Sequence[Artist]) -> None:
        super().__init__()
        self.moving = moving
        self.panels = [artist.axes for artist in moving if artist.axes is not None]
        self.pixels: np.ndarray | None = None

    def draw(self, renderer: Any) -> None:
        if self.pixels is None:
            plt.setp(self.moving, visible=False)
            for ax in self.panels:
                ax.draw(renderer)
            self.pixels = np.array(renderer.buffer_rgba())[::-1]
            plt.setp(self.moving, visible=True)
            plt.setp(self.panels, visible=False)
        renderer.draw_image(renderer.new_gc(), 0, 0, self.pixels)
        for artist in self.moving:
            artist.draw(renderer)


def encoder() -> dict[str, Any] | None:
    """The settings with which matplotlib finds an MP4 encoder; None if there is no encoder.

    Examples:
        >>> from jaxgait.plot.encoding import encoder
        >>> encoder() is None or isinstance(encoder(), dict)
        True
    """
    if writers.is_available("ffmpeg"):
        return {}
    if importlib.util.find_spec("imageio_ffmpeg") is None:
        return None
    import imageio_ffmpeg

    return {"animation__ffmpeg_path": imageio_ffmpeg.get_ffmpeg_exe()}
