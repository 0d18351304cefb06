"""The plan of the house: imports run down the rooms, nothing changes JAX's configuration on import."""

import ast
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

import jaxgait

ROOMS = [
    "native",
    "mechanics",
    "motion",
    "registry",
    "parameters",
    "model",
    "run",
    "measure",
    "solve",
    "ensembles",
    "analysis",
    "optimization",
    "plot",
    "models",
    "cli",
]
ROOT = pathlib.Path(jaxgait.__file__).parent


def _room(module: str) -> int | None:
    parts = module.split(".")
    return ROOMS.index(parts[1]) if parts[0] == "jaxgait" and len(parts) > 1 and parts[1] in ROOMS else None


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_down(path):
    own = _room("jaxgait." + path.relative_to(ROOT).as_posix().removesuffix(".py").replace("/", "."))
    if own is None:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        modules = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        modules += [a.name for a in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            room = _room(module)
            assert room is None or room <= own, f"{path.name} imports {module} from a higher room"


def test_import_changes_no_setting():
    code = "import jax; a = dict(jax.config.values); import jaxgait, jaxgait.cli; assert a == dict(jax.config.values)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_dependency_is_used():
    """What nothing imports (nor names as xarray's engine or a store's library) is not a dependency."""
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = [set(re.findall(r"[a-z]\w+", line)) for line in [*project["dependencies"], *extras["store"]]]
    source = "\n".join(path.read_text() for path in ROOT.rglob("*.py"))
    named = r"^\s*(?:import|from) (\w+)|(?:engine=|store_library\()\"(\w+)"
    used = {name for pair in re.findall(named, source, flags=re.MULTILINE) for name in pair}
    assert not [names for names in declared if not names & used] and set(extras) == {"store", "dev"}
