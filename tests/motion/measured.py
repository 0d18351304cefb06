"""Where the measured gaits are, if anywhere: they are not in the repository."""

import os
import pathlib

import pytest

GAIT = pathlib.Path(os.environ.get("JAXGAIT_GAIT_DATA") or pathlib.Path(__file__).parents[3] / "shared/data/gait")
"""Next to the checkout, unless the environment names another folder."""
RAW = GAIT / "raw"
needs_raw = pytest.mark.skipif(not RAW.is_dir(), reason="the measured files are not here")
