"""GIF files of films: one palette for all frames, and frame times whose sum is that of the film."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
from matplotlib.animation import PillowWriter, writers
from PIL import Image

WRITER = "one palette"
"""Its name among matplotlib's writers."""
MAX_RATE = 50.0
"""Frames per second: browsers show frames of less than 2 cs for 10 cs."""


@writers.register(WRITER)
class _OnePalette(PillowWriter):
    """Writes GIF files with one palette for all frames: in less time, and half as large as with one for each."""

    def finish(self) -> None:
        frames = [frame.convert("RGB") for frame in self._frames]
        counts = collections.Counter[Any]()
        for frame in frames:
            for count, colour in frame.getcolors(frame.width * frame.height):
                counts[colour] += count
        colours = np.array([sorted(counts, key=counts.__getitem__)], np.uint8)
        few = Image.fromarray(colours).quantize(method=Image.Quantize.MAXCOVERAGE)
        index = lambda image: image.quantize(palette=few, dither=Image.Dither.NONE)
        # Pillow's few colours lie near those of the film: white would be grey. Each gives way to the most frequent one
        # that it stands for.
        palette = np.zeros((256, 3), np.uint8)
        palette[np.asarray(index(Image.fromarray(colours)))] = colours
        self._frames = [index(frame) for frame in frames]
        for frame in self._frames:
            frame.putpalette(palette.ravel().tolist())
        first, *others = self._frames
        first.save(
            self.outfile, save_all=True, append_images=others, duration=times(len(self._frames), self.fps), loop=0
        )


def times(count: int, fps: float) -> list[int]:
    """Times of `count` frames in ms at `fps` in 1/s: whole centiseconds, as in the format, with sums as exact as these.

    Examples:
        >>> from jaxgait.plot.gif import times
        >>> times(6, 30.0)
        [30, 40, 30, 30, 40, 30]
    """
    return (10 * np.diff(np.round(100.0 * np.arange(count + 1) / fps)).astype(int)).tolist()
