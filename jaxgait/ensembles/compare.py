"""The error of single precision: the same ensemble in float32 and in float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxgait import xr
from jaxgait.ensembles.driver import ensemble
from jaxgait.ensembles.members import Members
from jaxgait.ensembles.plan import failures
from jaxgait.model import Model


def float32_error(model: Model, members: Members | Mapping[str, Any], **request: Any) -> xr.Dataset:
    """Runs an ensemble in float32 and in float64 with the same request and compares.

    Args:
        model: the mechanism.
        members: as in `ensemble`.
        request: other arguments of `ensemble`; each precision has its own default tolerances.

    Returns:
        Every real result's float32 value minus its float64 value (NaN for members that failed in float32), and the
        float32 `status` of members that ended differently (-1 for all others).

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.ensembles.compare import float32_error
        >>> error = float32_error(Bungee(), {"mass": [60.0, 80.0]}, duration=20.0, observe=["clearance"])
        >>> print(bool((abs(error.clearance) < 0.01).all()), error.status.values)  # within 1 cm; both ended alike
        True [-1 -1]
    """
    single = ensemble(model, members, precision="float32", **request)
    done = ~(failures(single["status"]) | single.get("promoted", False))
    double = ensemble(model, members, precision="float64", **request)
    data = {}
    for name in (n for n in double.data_vars if double[n].dtype.kind == "f"):
        data[name] = (single[name].astype(np.float64) - double[name]).where(done).assign_attrs(double[name].attrs)
    same = single["status"] == double["status"]
    data["status"] = single["status"].where(~same, -1)
    return xr.Dataset(data, attrs=single.attrs)
