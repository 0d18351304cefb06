"""The error of an ensemble in float32."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxgait.ensembles.driver import ensemble
from jaxgait.ensembles.members import Members
from jaxgait.model import Model
from jaxgait.outcome import failures
from jaxgait.support import xr


def float32_error(model: Model, members: Members | Mapping[str, Any] | Any, **request: Any) -> xr.Dataset:
    """Runs an ensemble in float32 and in float64 with the same request and compares.

    Args:
        model: the mechanism.
        members: as in `ensemble`.
        request: other arguments of `ensemble`; each precision has its own default tolerances.

    Returns:
        Every real result's float32 value minus its float64 value (NaN for members that failed in float32), and the
        float32 `status` of members that ended differently (-1 for all others).

    Raises:
        ValueError: for `precision`, `store` and `repair`, and for what `ensemble` rejects.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.ensembles import float32_error, summary
        >>> error = float32_error(Bungee(), {"mass": [60.0, 80.0]}, duration=20.0, observe=["clearance"])
        >>> print(bool((abs(error.clearance) < 0.01).all()), summary(error))  # within 1 cm
        True {'ended as in float64': 2}
    """
    if own := [name for name in ("precision", "store", "repair") if name in request]:
        raise ValueError(f"float32_error does not take {own[0]}: it runs two ensembles and keeps only their difference")
    single = ensemble(model, members, precision="float32", **request)
    done = ~(failures(single["status"]) | single.get("promoted", False))
    double = ensemble(model, members, precision="float64", **request)
    single = single.assign_coords(double.coords)  # times differ by rounding
    data = {}
    for name in (n for n in double.data_vars if double[n].dtype.kind == "f"):
        data[name] = (single[name].astype(np.float64) - double[name]).where(done).assign_attrs(double[name].attrs)
    same = single["status"] == double["status"]
    data["status"] = single["status"].where(~same, -1)
    legend = json.loads(single.attrs["status_legend"]) | {"-1": "ended as in float64"}
    return xr.Dataset(data, attrs=single.attrs | {"status_legend": json.dumps(legend)})
