import numpy as np
import pytest

from jaxgait.motion.capture.walk import measure
from jaxgait.motion.drive import reference_gait, stride_drive
from jaxgait.motion.naming import walk_stride
from jaxgait.motion.synthetic import recorded


def test_a_recording_of_a_drive_gives_the_drive_back():
    drive = reference_gait()
    again = stride_drive(walk_stride(measure([recorded(drive, duration=6.0)])))
    assert float(again.period) == pytest.approx(float(drive.period), rel=1e-3)
    assert float(again.speed) == pytest.approx(float(drive.speed), rel=1e-3)
    for name in ("thigh", "knee", "ankle"):
        ranges = [
            np.ptp([float(getattr(d.evaluate(t), name).value) for t in np.linspace(0.0, 1.1, 12)])
            for d in (drive, again)
        ]
        assert ranges[0] == pytest.approx(ranges[1], rel=0.05)


def test_impossible_recordings():
    with pytest.raises(ValueError, match=r"rate must be a positive number of Hz, got 0\.0"):
        recorded(reference_gait(), rate=0.0)
