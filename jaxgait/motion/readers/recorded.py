"""What every text reader ends with: gaps marked, lengths in m, everything on one clock."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from jaxgait.motion.readers import labels
from jaxgait.motion.readers.clock import Clock
from jaxgait.motion.readers.sheet import Source
from jaxgait.motion.recording import Force, Recording


def recording(
    source: Source,
    name: str,
    ticks: Clock,
    markers: dict[str, Float[np.ndarray, "frames 3"]],
    unit: str | None,
    notes: list[str],
    *,
    angles: Mapping[str, Float[np.ndarray, " frames"]] | None = None,
    forces: tuple[Force, ...] = (),
) -> Recording:
    """The recording of what was read.

    Args:
        source: the file.
        name: of the trial.
        ticks: the clock of the frames.
        markers: positions in the unit of the file.
        unit: the unit of length that the file states; None if it states none.
        notes: what was assumed while reading; grows.
        angles: angles in rad and translations in m.
        forces: ground forces in N with points in m.

    Raises:
        MotionFormatError: if no unit makes a body of the markers.
    """
    clean = labels.gapped(markers, notes)
    metre, more, warnings = labels.length_unit(clean, unit, source.file)
    return Recording(
        name=name,
        file=source.file,
        rate=ticks.rate,
        time=ticks.time,
        markers={k: metre * x for k, x in clean.items()},
        angles=dict(angles or {}),
        forces=forces,
        notes=(*notes, *ticks.notes, *more),
        warnings=tuple(warnings),
    )
