"""The places that must name a model of this package besides its own folder; CONTRIBUTING lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import jaxgait
from jaxgait import registry
from jaxgait.parameters import ParameterInfo, parameters

from .papers import DOCS
from .parameters import TABLES

ROOT = DOCS.parent


def lacking(models: Mapping[str, str] | None = None) -> list[str]:
    """A sentence for every place that lacks a model, with what to add there.

    Args:
        models: name to "module:class"; by default those of the package.

    Raises:
        ValueError: for a model that cannot be imported.
    """
    found = registry.own_models() if models is None else models
    alone = [line for name, where in found.items() for line in _of_a_model(name, where)]
    return [*alone, *_of_the_mechanisms(found)]


def _of_a_model(name: str, where: str) -> Iterator[str]:
    module, _, kind = where.partition(":")
    top = (ROOT / "jaxgait" / "__init__.py").read_text()
    if getattr(jaxgait, kind, None) is not registry.load(where):
        yield f"{name}: `from jaxgait import {kind}` fails: add {kind} to `models=` of `lazy` in jaxgait/__init__.py"
    if f"    from {module} import {kind} as {kind}\n" not in top:
        yield f"{name}: type checkers do not find jaxgait.{kind}: import it below TYPE_CHECKING in jaxgait/__init__.py"
    if not _has_word(jaxgait.__doc__ or "", kind):
        yield f"{name}: `help(jaxgait)` lacks {kind}: add it to the docstring of jaxgait/__init__.py"
    if f"::: {module}\n" not in (DOCS / "api" / "models.md").read_text():
        yield f"{name}: docs/api/models.md lacks {module}: add `::: {module}`"
    if undocumented := _without_table(registry.load(where)()):
        few = ", ".join(undocumented[:3]) + (", ..." if undocumented[3:] else "")
        yield f"{name}: no table has its parameters {few}: add one to TABLES in experiments/docs/parameters.py"


def _of_the_mechanisms(models: Mapping[str, str]) -> Iterator[str]:
    """Sentences about mechanisms (folders) of which the pages about all mechanisms name no model."""
    readme, howto = (ROOT / "README.md").read_text(), (DOCS / "howto" / "mechanisms.md").read_text()
    mechanisms: dict[str, list[str]] = {}
    for name, where in models.items():
        mechanisms.setdefault(where.partition(":")[0].rpartition(".")[0], []).append(name)
    for folder, names in mechanisms.items():
        none = f"has none of the models of {folder} ({', '.join(names)})"
        if not any(f"| **{name}** |" in readme for name in names):
            yield f"the table of mechanisms in README.md {none}: add a row"
        if not any(_has_word(howto, name) for name in names):
            yield f"docs/howto/mechanisms.md {none}: add a few lines of Python to start from"


def _without_table(model: Any) -> list[str]:
    """The parameters of a model that no generated table has, whatever the part to which they belong there."""
    tables = {_entry(name, info) for make in TABLES.values() for name, info in make().items()}
    return [name for name, info in parameters(model).items() if _entry(name, info) not in tables]


def _entry(name: str, info: ParameterInfo) -> tuple[str, str, str]:
    return name.rpartition(".")[2], info.unit, info.doc


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"\b{word}\b", text) is not None
