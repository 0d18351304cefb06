"""The plan of the house: imports run down the rooms, nothing changes JAX's configuration on import."""

import ast
import importlib
import inspect
import pathlib
import re
import subprocess
import sys
import tomllib
from inspect import signature
from types import SimpleNamespace

import pytest

import jaxgait

ROOMS = [
    "support",
    "native",
    "precision",
    "outcome",
    "roots",
    "elements",
    "fields",
    "plausible",
    "parameters",
    "batches",
    "mechanics",
    "motion",
    "registry",
    "contents",
    "system",
    "definition",
    "model",
    "kinds",
    "parts",
    "states",
    "run",
    "measure",
    "scheme",
    "solve",
    "ensembles",
    "exporting",
    "report",
    "reproduction",
    "analysis",
    "optimization",
    "calibration",
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


def test_the_readme_shows_the_layers():
    shown = (ROOT.parent / "README.md").read_text().partition("<!-- layers -->\n```text\n")[2].partition("```")[0]
    assert shown.split() == ROOMS


ODD = re.compile(r"(^|_)(told|said|says|refuse[sd]?|refusal|anew|beside|nobody)(_|$)")
"""Words in names that have a plainer one: reported, raises, again, next to, no one."""


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_names_are_plain(path):
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {getattr(node, key, None) for node in nodes for key in ("name", "id", "arg", "attr")}
    assert not [name for name in names if isinstance(name, str) and ODD.search(name)]


def public_functions():
    """Functions that the packages name, without those of compilers and commands."""
    packages = [f"{ROOT.name}.{p.parent.relative_to(ROOT).as_posix()}" for p in ROOT.rglob("*/__init__.py")]
    modules = [importlib.import_module(p.replace("/", ".")) for p in packages if not re.search("native|cli", p)]
    found = [getattr(module, name) for module in (jaxgait, *modules) for name in dir(module) if name[0] != "_"]
    return {x for x in found if inspect.isfunction(x) and x.__module__.startswith(ROOT.name)}


def test_public_functions_show_a_correct_call():
    """Those that take arguments by name are decorated by `checks.by_name`, so that a wrong call says what to write."""
    named = {f for f in public_functions() if any(p.kind is p.KEYWORD_ONLY for p in signature(f).parameters.values())}
    assert len(named) > 25 and {f.__name__ for f in named if not hasattr(f, "__by_name__")} == {"profile", "sample"}


def test_no_output_of_a_run_is_committed():
    """Files in the root are a project's: LICENSE, or with a suffix."""
    git = ["git", "-C", str(ROOT.parent), "ls-files", "-z"]
    listed = subprocess.run(git, check=False, capture_output=True, text=True).stdout
    tracked = [name for name in listed.split("\0") if name]  # none in a copy without git
    assert [name for name in tracked if not re.fullmatch(r"[\w.-]+/.+|[A-Z]+|[\w.-]*\.\w+", name)] == []


def test_import_changes_no_setting():
    code = "import jax; a = dict(jax.config.values); import jaxgait, jaxgait.cli; assert a == dict(jax.config.values)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_dependency_is_used():
    """What nothing imports (nor names as xarray's engine or to `checks.library`) is not a dependency."""
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    ours = ("store", "film", "explore", "pareto", "bayes", "robots")
    declared = [
        set(re.findall(r"[A-Za-z]\w+", line.replace("-", "_").replace("pillow", "PIL")))
        for line in [*project["dependencies"], *(x for name in ours for x in extras[name])]
    ]
    source = "\n".join(path.read_text() for path in ROOT.rglob("*.py"))
    named = r"^\s*(?:import|from) (\w+)|(?:engine=|library\()\"(\w+)"
    used = {name for pair in re.findall(named, source, flags=re.MULTILINE) for name in pair}
    wanted = {*ours, "docs", "dev"}
    assert not [names for names in declared if not names & used] and set(extras) == wanted


@pytest.mark.slow
def test_tests_run_without_xdist_as_for_a_debugger(request):
    """An option of xdist in `pyproject.toml` ended `pytest -p no:xdist` as unknown; with `-n` the same is set."""
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "--collect-only", "-q", "tests/throw.py"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT.parent, check=False)
    assert ran.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, ran.stderr
    conftest = request.config.pluginmanager.get_plugin(str(ROOT.parent / "tests" / "conftest.py"))
    for given, used in {"no": "worksteal", "loadfile": "loadfile"}.items():
        option = SimpleNamespace(numprocesses=2, dist=given)
        conftest.pytest_cmdline_main(SimpleNamespace(option=option))
        assert option.dist == used


COVERED = {
    "__main__.py": "cli/test_program.py",
    "cli/commands.py": "cli/test_program.py",
    "cli/following.py": "cli/test_optimizing.py",
    "cli/options.py": "cli/test_program.py",
    "cli/reproducing.py": "cli/test_program.py",
    "cli/viewing.py": "cli/test_program.py",
    "cli/design_page.py": "cli/test_optimizing.py",
    "cli/fit_page.py": "cli/test_fitting.py",
    "cli/completion.py": "cli/test_program.py",
    "cli/distributions.py": "cli/test_parsing.py",
    "cli/gait_table.py": "cli/test_motion.py",
    "cli/page.py": "cli/test_fitting.py",
    "analysis/crossings.py": "analysis/test_families.py",
    "analysis/equations.py": "analysis/test_continuation.py",
    "analysis/floquet.py": "analysis/test_continuation.py",
    "support/checks.py": "bad_inputs/test_bad_inputs.py",
    "support/code_objects.py": "native/test_code_facts.py",
    "ensembles/conversion.py": "ensembles/test_columns.py",
    "ensembles/checksums.py": "ensembles/test_store.py",
    "ensembles/driver.py": "ensembles/test_store.py",
    "ensembles/fingerprint.py": "ensembles/test_source.py",
    "ensembles/objects.py": "ensembles/test_source.py",
    "ensembles/syntax.py": "ensembles/test_source.py",
    "ensembles/labels.py": "ensembles/test_ensemble.py",
    "ensembles/plan.py": "ensembles/test_ensemble.py",
    "ensembles/request.py": "ensembles/test_ensemble.py",
    "ensembles/recipe.py": "plot/test_explorer.py",
    "mechanics/fourbar.py": "models/prosthesis/test_model.py",
    "mechanics/kane.py": "models/prosthesis/test_model.py",
    "mechanics/planar.py": "mechanics/test_spatial.py",
    "models/bungee/model.py": "papers/test_bungee.py",
    "models/prosthesis/recording.py": "test_exporting.py",
    "motion/writing.py": "test_exporting.py",
    "models/creeper/artery.py": "models/creeper/test_model.py",
    "models/creeper/chain.py": "papers/test_creeper_spatial.py",
    "models/creeper/measures.py": "papers/test_creeper_axial.py",
    "models/exoskeleton/dynamics.py": "models/exoskeleton/test_formulations.py",
    "models/exoskeleton/elements.py": "models/exoskeleton/test_formulations.py",
    "models/exoskeleton/scene.py": "models/exoskeleton/test_pictures.py",
    "models/jumper/scene.py": "plot/test_scene.py",
    "models/prosthesis/scene.py": "plot/test_scene.py",
    "models/exoskeleton/symbolic.py": "models/exoskeleton/test_formulations.py",
    "models/exoskeleton/vectors.py": "models/exoskeleton/test_formulations.py",
    "models/exoskeleton/walking.py": "models/exoskeleton/test_model.py",
    "mechanics/anthropometry.py": "papers/test_jumper.py",
    "models/jumper/human.py": "papers/test_jumper.py",
    "models/jumper/planar.py": "models/jumper/test_robot.py",
    "models/jumper/spatial.py": "papers/test_jumper_spatial.py",
    "models/jumper/swing.py": "models/jumper/test_landing.py",
    "fields.py": "test_parts.py",
    "plausible.py": "test_parameters.py",
    "models/prosthesis/fitting.py": "models/prosthesis/test_model.py",
    "models/prosthesis/leg.py": "models/prosthesis/test_model.py",
    "models/prosthesis/parts.py": "models/prosthesis/test_model.py",
    "models/tree/checks.py": "models/tree/test_model.py",
    "models/tree/inputs.py": "models/tree/test_model.py",
    "models/tree/naming.py": "models/tree/test_model.py",
    "models/tree/mjcf_robot.py": "models/tree/test_mjcf.py",
    "models/tree/parts.py": "models/tree/test_model.py",
    "definition.py": "test_model.py",
    "models/walker/round_feet.py": "models/walker/test_smooth.py",
    "motion/embedded.py": "motion/test_verdict.py",
    "motion/harmonics.py": "motion/test_record.py",
    "motion/norms.py": "motion/test_verdict.py",
    "motion/recording.py": "motion/test_readers.py",
    "motion/rounding.py": "motion/test_clock.py",
    "motion/stride.py": "motion/test_drive.py",
    "motion/text.py": "motion/test_table.py",
    "native/arrays.py": "native/test_looping.py",
    "native/blocks.py": "native/test_kernel.py",
    "native/code.py": "native/test_looping.py",
    "native/instructions.py": "native/test_kernel.py",
    "native/loops.py": "native/test_looping.py",
    "native/reading.py": "native/test_looping.py",
    "native/regions.py": "native/test_program.py",
    "optimization/active_constraints.py": "optimization/test_neighbourhood.py",
    "optimization/checkpoint.py": "optimization/test_search.py",
    "optimization/evaluate.py": "optimization/test_search.py",
    "optimization/gait.py": "optimization/test_search.py",
    "optimization/methods.py": "optimization/test_search.py",
    "optimization/optimum.py": "optimization/test_search.py",
    "optimization/curvature.py": "optimization/test_neighbourhood.py",
    "optimization/space.py": "optimization/test_design.py",
    "optimization/tradeoff.py": "optimization/test_pareto.py",
    "optimization/gradients.py": "optimization/test_search.py",
    "optimization/fingerprint.py": "optimization/test_search.py",
    "optimization/nsga.py": "optimization/test_pareto.py",
    "optimization/search_record.py": "optimization/test_search.py",
    "optimization/search_tables.py": "optimization/test_search.py",
    "optimization/search_text.py": "optimization/test_search.py",
    "optimization/statuses.py": "optimization/test_failures.py",
    "ensembles/float32.py": "ensembles/test_ensemble.py",
    "native/dependencies.py": "native/test_identity.py",
    "plot/timeline.py": "plot/test_film_layout.py",
    "plot/fits.py": "calibration/test_calibration.py",
    "plot/maps.py": "plot/test_histories.py",
    "plot/panels.py": "plot/test_histories.py",
    "plot/scale.py": "plot/test_histories.py",
    "plot/table.py": "plot/test_explorer_page.py",
    "outcome.py": "ensembles/test_ensemble.py",
    "scheme.py": "solve/test_schemes.py",
    "states.py": "test_run.py",
    "solve/checks.py": "bad_inputs/test_bad_inputs.py",
    "solve/dense.py": "solve/test_verner.py",
    "solve/derivatives.py": "solve/test_schemes.py",
    "solve/dataset.py": "solve/test_simulate.py",
    "solve/names.py": "test_model.py",
    "solve/segments.py": "solve/test_hybrid.py",
    "solve/time_resolution.py": "solve/test_float32.py",
    "solve/smooth.py": "solve/test_simulate.py",
    "models/exoskeleton/observables.py": "papers/test_exoskeleton.py",
    "solve/fixed.py": "solve/test_time_stepping.py",
    "solve/steps.py": "solve/test_time_stepping.py",
    "solve/stroboscopic.py": "solve/test_return_maps.py",
    "solve/tableaus.py": "solve/test_rosenbrock.py",
    "support/xr.py": "test_registry.py",
}
"""Modules whose tests stand in a neighbour's file, or with the published figures."""
UNTESTED = {
    "kinds.py": "protocols",
}
"""Modules without tests that name them, and why. This list only becomes shorter."""
TESTS = pathlib.Path(__file__).parent


def _own_tests(module: pathlib.PurePath) -> list[str]:
    """Where a module's tests belong: a file of its own, or one of its folder."""
    folder = [f"{module.parent.parent}/test_{module.parent.name}.py", f"{module.parent}/test_{module.parent.name}.py"]
    return [f"{module.parent}/test_{module.name}", *folder]


def test_every_module_has_tests_in_the_expected_file():
    modules = [
        p.relative_to(ROOT) for p in ROOT.rglob("*.py") if p.name != "__init__.py" and "experiments" not in p.parts
    ]
    own = {m.as_posix() for m in modules if any((TESTS / path).exists() for path in _own_tests(m))}
    without = {m.as_posix() for m in modules} - own - set(COVERED) - set(UNTESTED)
    assert not without, f"no test file tests/<room>/test_<module>.py, nor an entry of COVERED: {sorted(without)}"
    stale = {name for name in [*COVERED, *UNTESTED] if name in own or not (ROOT / name).exists()}
    assert not stale, f"take these out of COVERED or UNTESTED: {sorted(stale)}"
    assert not [path for path in COVERED.values() if not (TESTS / path).exists()]
