"""Synthetic recordings of a drive: a known walk, to test the processing of recordings."""

from __future__ import annotations

import jax
import numpy as np

from jaxgait import checks
from jaxgait.motion.drive import GaitDrive
from jaxgait.motion.recording import Recording
from jaxgait.precision import float64_default


@float64_default
def recorded(drive: GaitDrive, duration: float = 4.0, rate: float = 100.0) -> Recording:
    """The joint angles of a right leg that follows a drive, and its pelvis; no markers and no forces.

    The duration is in s, the rate in Hz.

    Raises:
        ValueError: for a duration or rate that is not positive.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait
        >>> from jaxgait.motion.synthetic import recorded
        >>> walk = measure([recorded(reference_gait())])
        >>> print(round(walk.period, 3), round(float(reference_gait().period), 3))  # s
        1.127 1.127
    """
    time = np.arange(0.0, checks.positive("duration", duration, "s"), 1.0 / checks.positive("rate", rate, "Hz"))
    hip = jax.tree.map(np.asarray, jax.vmap(drive.evaluate)(time))
    angles = {
        "pelvis_tilt": np.zeros_like(time),
        "pelvis_tx": hip.hip_x.value,
        "pelvis_ty": hip.hip_y.value,
        "hip_flexion_r": hip.thigh.value,
        "knee_angle_r": hip.knee.value,
        "ankle_angle_r": hip.ankle.value,
    }
    return Recording(drive.name, f"{drive.name}.mot", rate, time, angles=angles)
