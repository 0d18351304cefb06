"""The script for completion in a shell: tyro's, extended by names that tyro does not know."""

from __future__ import annotations

import re
from typing import Literal, get_args

from jaxgait import registry
from jaxgait.motion.embedded import REFERENCE_GAITS

Shell = Literal["bash", "zsh", "fish"]
SCHEMES = ("EventDriven", "Smooth", "TimeStepping", "Marching", "Prescribed")
SOLVERS = ("Bosh3", "Tsit5", "Dopri8", "Verner8", "Rodas3", "Ros4", "Rodas4", "Rodas5P")
"""Copies of the names in `jaxgait.solve`, which imports JAX: the script is made whenever a shell starts."""

_ADDED = """
for _option in [o for c in COMPLETION_SPEC['subcommands'].values() for o in c['options']]:
    for _flag, _values in {values!r}.items():
        if _flag in _option['flags']:
            _option.update(type='choice', choices=_values)
for _command, _names in {names!r}.items():
    _own = COMPLETION_SPEC['subcommands'][_command]
    _own['subcommands'] = {{_name: dict(_own, description=_name, subcommands={{}}) for _name in _names}}
"""
"""Python that extends the table in tyro's script: names that may be a command's first word become its subcommands.

It avoids characters that are special within double quotes of fish, where it stands.
"""
_FILES = """
# File names where there is nothing else to offer.
_jaxgait() {
  _tyro_jaxgait "$@"
  [[ -n "${COMPREPLY[*]}" ]] || COMPREPLY=()
}
complete -o default -F _jaxgait jaxgait
"""


def with_names(script: str, shell: Shell) -> str:
    """The script of tyro, extended by names of models, experiments, schemes, solvers and shells, and in bash by files.

    Examples:
        >>> from jaxgait.cli.completion import with_names
        >>> "Rodas5P" in with_names("COMPLETION_SPEC = {}", "zsh")
        True
    """
    models = list(registry.models())
    names = {command: models for command in ("run", "scan", "optimize", "fit")}
    names |= {"reproduce": [*registry.experiments(), registry.ALL], "completion": list(get_args(Shell))}
    values = {"--scheme": list(SCHEMES), "--solver": list(SOLVERS)}
    if shell == "bash":  # the others would no longer offer files
        values |= {"--motion": list(REFERENCE_GAITS)}
    added = _ADDED.format(values=values, names=names)
    script = re.sub("^COMPLETION_SPEC = .*$", lambda found: found[0] + added, script, count=1, flags=re.MULTILINE)
    return script + _FILES if shell == "bash" else script
