"""Readers of what motion laboratories write: C3D, TRC, MOT, STO, CSV and TXT, each into a `Recording`."""

from jaxgait.motion.readers.reading import ENDINGS, read_recording

__all__ = ["ENDINGS", "read_recording"]
