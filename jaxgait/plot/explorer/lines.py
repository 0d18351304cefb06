"""The Python and shell lines that rerun a member, with {{name}} as placeholders for its own values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

import jaxgait
from jaxgait import registry
from jaxgait.contents import contents
from jaxgait.ensembles.addresses import parted
from jaxgait.ensembles.recipe import Recipe
from jaxgait.model import Model
from jaxgait.parameters import parameters

SHOWN_ENTRIES = 8


def lines(recipe: Recipe, attempt: int = 0) -> dict[str, str]:
    """The Python and shell lines of all members, with placeholders, for an attempt (see `Recipe.retried`).

    Returns:
        "python" and "shell"; the latter is empty if the command line cannot express it.
    """
    options = recipe.options | recipe.attempts()[attempt]
    options = {name: x for name, x in options.items() if (name, x) != ("precision", "float64")}  # the default
    own = _own(recipe)
    if own is None:
        return {"python": _from_file(recipe), "shell": ""}
    plain, started = parted(recipe.model, own)
    out = "member_{{member}}.nc" if recipe.dims else "again.nc"  # a single run has no number
    shell = _shell(recipe.known_as, plain, started, options, out) if recipe.known_as else ""
    return {"python": _python(recipe.model, plain, started, options), "shell": shell}


def _from_file(recipe: Recipe) -> str:
    """Python that reruns a member of the file of a scan, or a run, where its values are too long to write."""
    source, index = repr(recipe.source or "result.nc"), ", ".join(f"{d!r}: {{{{#{d}}}}}" for d in recipe.dims)
    if not index:
        return f"from jaxgait.ensembles import again\nrun = again({source})"
    return f"from jaxgait.ensembles import again, open_result\nrun = again(open_result({source}).isel({{{index}}}))"


Values = Mapping[str, Any]


def _python(model: Model, plain: Values, started: Values, options: Values) -> str:
    name, module = type(model).__name__, _importable_from(type(model))
    imports = ["simulate", *(["with_parameters"] if plain else []), *([name] if module == "jaxgait" else [])]
    lines = [f"from jaxgait import {', '.join(sorted(imports))}"]
    if not module:
        lines += [f"# {name} is of a script, a notebook or a function: define it here, or import it"]
    elif module != "jaxgait":
        lines += [f"from {module} import {name}"]
    call = f"with_parameters({name}(), {_dict(plain)})" if plain else f"{name}()"
    arguments = "".join(f", {n}={x!r}" for n, x in options.items())
    if started:
        arguments = f", initial_state={_dict(started)}{arguments}"
    return "\n".join([*lines, f"run = simulate({call}{arguments})"])


def _shell(known_as: str, plain: Values, started: Values, options: Values, out: str) -> str:
    words = ["jaxgait", "run", known_as]
    for option, values in (("--set", plain), ("--initial", started)):
        words += [option, *(f"{n}={_typed(x)}" for n, x in values.items())] if values else []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return " ".join(map(_quoted, [*words, "--out", out]))


def _quoted(word: str) -> str:
    """A word for a shell, to which the number of a placeholder is a plain character."""
    plain = re.sub(r"{{.*?}}", "0", word)
    return word if shlex.quote(plain) == plain else shlex.quote(word)


def _own(recipe: Recipe) -> dict[str, Any] | None:
    """The values to set, a member's own ones as placeholders; None if too long to write."""
    fixed = _settings(recipe.model, recipe.known_as)
    if fixed is None or any(x.ndim > 1 for x in recipe.values.values()):
        return None
    return {**{n: x for n, x in fixed.items() if n not in recipe.values}, **{n: _Own(n) for n in recipe.values}}


class _Own(str):
    def __repr__(self) -> str:
        return f"{{{{{self!s}}}}}"


def _dict(values: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{n!r}: {x!r}" for n, x in values.items()) + "}"


def _typed(value: Any) -> str:
    if isinstance(value, _Own):
        return repr(value)
    rows = np.atleast_1d(np.asarray(value))
    one = lambda row: ",".join(repr(x) for x in np.atleast_1d(row).tolist())
    return ";".join(map(one, rows)) if rows.ndim > 1 else one(rows)


def _importable_from(kind: type[Model]) -> str:
    """The module from which a user imports a model's class; empty if it is of a script, a notebook or a function."""
    if getattr(jaxgait, kind.__name__, None) is kind:
        return "jaxgait"
    return "" if registry.session_mark(kind) else kind.__module__


def _settings(model: Model, known_as: str) -> dict[str, Any] | None:
    """Parameters of a model that differ from its defaults, as plain values; None if more differs, or one is long."""
    if contents(model):
        return None
    usual = parameters(registry.model(known_as) if known_as else type(model)())
    found = {n: np.asarray(p.value) for n, p in parameters(model).items()}
    differing = {n: x for n, x in found.items() if n not in usual or not np.array_equal(x, np.asarray(usual[n].value))}
    too_long = any(x.size > SHOWN_ENTRIES for x in differing.values())
    return None if too_long else {n: x.tolist() for n, x in differing.items()}
