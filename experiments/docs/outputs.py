"""Tables of a mechanism's outputs and measures from their declarations in the code, so that they cannot go stale."""

from __future__ import annotations

from jaxgait import registry
from jaxgait.measure import known
from jaxgait.report import table as markdown

from .parameters import unit


def outputs(name: str) -> str:
    """The outputs of a model, by its name on the command line, as a Markdown table.

    Raises:
        ValueError: for an unknown name.
    """
    model = registry.model(name)
    there = model.outputs(0.0, model.initial_state())
    rows = [[f"`{k}`", unit(v.unit), v.long_name] for k, v in model.variables.items() if k in there]
    return markdown(["output", "unit", "meaning"], rows)


def measures(name: str) -> str:
    """The measures of a model, by its name on the command line, as a Markdown table.

    Raises:
        ValueError: for an unknown name.
    """
    rows = [[f"`{k}`", unit(one.unit), one.long_name] for k, one in known(registry.model(name)).items()]
    return markdown(["measure", "unit", "meaning"], rows)
