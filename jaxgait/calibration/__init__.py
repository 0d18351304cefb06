"""Calibration: fits parameters to measured curves, with their uncertainty and undetermined directions."""

from jaxgait.calibration.fitted import Fit as Fit
from jaxgait.calibration.fitted import FittedTrial as FittedTrial
from jaxgait.calibration.fitting import fit as fit
from jaxgait.calibration.measured import MeasuredCurve as MeasuredCurve
from jaxgait.calibration.measured import over_phase as over_phase
from jaxgait.calibration.measured import over_time as over_time
from jaxgait.calibration.profile import Profile as Profile
from jaxgait.calibration.profile import profile as profile
from jaxgait.calibration.sampling import sample as sample
from jaxgait.calibration.saved import as_dataset as as_dataset
from jaxgait.calibration.table import CurveTable as CurveTable
from jaxgait.calibration.table import read_curve as read_curve
from jaxgait.calibration.trials import Trial as Trial
