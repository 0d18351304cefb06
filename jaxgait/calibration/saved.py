"""A fit as a labelled Dataset for files: `as_dataset(found).to_netcdf("fit.nc")`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from jaxgait.calibration.fitted import Fit, FittedTrial
from jaxgait.calibration.profile import Profile
from jaxgait.ensembles.spacing import logarithmic
from jaxgait.parameters import get_parameter
from jaxgait.report import labels

_OWN = "each in the unit of its parameter"


def as_dataset(fit: Fit, profiles: Sequence[Profile] = ()) -> xr.Dataset:
    """Curves, parameters with their errors, undetermined directions, and profiles, all with units.

    Returns:
        Over `time` or `phase` the curves `measured`, `before` (of the model before the fit), `fitted`, with `residual`,
        `band` and `noise`; of several trials `measured[NAME]` and so on, over `time[NAME]` or `phase[NAME]`, and their
        shares `chi_square[NAME]` and `degrees[NAME]` of chi-square and of the degrees of freedom. Over `parameter`
        `before_fit`, `best`, `standard_error`, the bounds `low` and `high`, and `unit`; `covariance` and `correlation`;
        over `direction` the singular values and directions; for each profile `rise[NAME]` over `value[NAME]`.
        Attributes record the settings and the outcome of the fit.
    """
    parts = [_curves(fit), _parameters(fit), _directions(fit), *map(_profile, profiles)]
    return xr.merge([part.drop_attrs(deep=False) for part in parts]).assign_attrs(_facts(fit))


def _facts(fit: Fit) -> dict[str, str | float]:
    """The outcome of the fit; booleans are 0 or 1."""
    names = ("chi_square", "degrees", "fall", "minimum", "determined", "noise_estimated", "f_scale")
    facts: dict[str, str | float] = {name: float(getattr(fit, name)) for name in names}
    lines = {name: "\n".join(getattr(fit, name)) for name in ("undetermined", "remarks", "active", "why_stopped")}
    spread = logarithmic(fit.problem.space.bounds)
    lines |= {"logarithmic": "\n".join(spread)} if spread else {}
    return {"model": type(fit.model).__name__, "gradient": fit.gradient, "loss": fit.loss, **facts, **lines}


def _curves(fit: Fit) -> xr.Dataset:
    before = fit.before()
    found = {name: _curve(one, before[one.points], fit.noise[one.points]) for name, one in fit.trials.items()}
    if len(found) == 1:
        return next(iter(found.values()))
    return xr.merge([_labelled(name, curve, fit.trials[name]) for name, curve in found.items()])


def _curve(trial: FittedTrial, before: np.ndarray, noise: np.ndarray) -> xr.Dataset:
    measured = trial.curve.measured
    axis, unit = measured.dims[0], measured.attrs["units"]
    given = ", ".join(f"{one} = {np.array2string(np.asarray(x))}" for one, x in trial.given.items())
    return trial.curve.assign(
        fitted=trial.curve.fitted.assign_attrs(output=trial.output, quantity=trial.quantity, given=given),
        before=(axis, before, labels(unit, "curve of the model before the fit")),
        noise=(axis, noise, labels(unit, "standard deviation of the measured values")),
    )


def _labelled(name: str, curve: xr.Dataset, trial: FittedTrial) -> xr.Dataset:
    """The curves of one of several trials, under names with its own."""
    curve = curve.assign(
        chi_square=((), trial.chi_square, labels("1", "share of chi-square")),
        degrees=((), trial.degrees, labels("1", "share of the degrees of freedom")),
    )
    return curve.rename({one: f"{one}[{name}]" for one in map(str, curve.variables)})


def _parameters(fit: Fit) -> xr.Dataset:
    space, model = fit.problem.space, fit.problem.model
    columns = {
        "before_fit": ([float(get_parameter(model, name)) for name in space.names], "value before the fit"),
        "best": (list(fit.best.values()), "value of the best fit"),
        "standard_error": (list(fit.standard_error.values()), "standard error (Laplace)"),
        "low": (space.low, "lower bound"),
        "high": (space.high, "upper bound"),
    }
    data = {name: ("parameter", np.asarray(x, float), labels(_OWN, what)) for name, (x, what) in columns.items()}
    unit = {"unit": ("parameter", space.units, {"long_name": "unit of the parameter"})}
    return xr.Dataset(data, {"parameter": space.names, **unit}).assign(
        covariance=fit.covariance, correlation=fit.correlation
    )


def _directions(fit: Fit) -> xr.Dataset:
    what = "of the Jacobian: 1/s is the standard error along a direction, in widths of the box"
    return xr.Dataset(
        {
            "singular_value": ("direction", fit.singular_values, labels("1", f"singular value s {what}")),
            "component": (
                ("direction", "parameter"),
                fit.directions,
                labels("1", "direction in the unit box, the best determined first"),
            ),
        },
        {"parameter": fit.problem.space.names},
    )


def _profile(profile: Profile) -> xr.Dataset:
    """The rise of chi-square over one parameter, with the interval as attributes."""
    name = profile.parameter
    rise = profile.curve.rise.rename(f"rise[{name}]").rename(value=f"value[{name}]")
    ends = {f"{kind}_{side}": end for kind in ("interval", "laplace") for side, end in
            zip(("low", "high"), getattr(profile, kind), strict=True)}  # fmt: skip
    return rise.assign_attrs(level=profile.level, threshold=profile.threshold, **ends).to_dataset()
