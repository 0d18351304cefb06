"""Readers of what motion laboratories write: C3D, TRC, MOT, STO, CSV and TXT, each into a `Recording`.

`read_recording` tells the format by the content where it can, otherwise by the ending.
"""

from jaxgait.motion.readers.reading import ENDINGS, read_recording

__all__ = ["ENDINGS", "read_recording"]
