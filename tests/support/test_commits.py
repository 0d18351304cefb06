"""Results name the commit of the code, also that of an installed package, whose build has recorded it."""

import pathlib
import re
import subprocess
import sys
import types

import pytest

from jaxgait.solve.dataset import made_by
from jaxgait.support.commits import RECORD, UNKNOWN, commit, commit_of

ROOT = pathlib.Path(__file__).parents[2]


def _repository(folder):
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)


@pytest.fixture
def copied(tmp_path):
    package = tmp_path / "jaxgait"
    package.mkdir()
    (package / "support").mkdir()
    (package / "support" / "commits.py").write_text((ROOT / "jaxgait" / "support" / "commits.py").read_text())
    return tmp_path


def test_results_name_the_commit():
    assert made_by()["commit"] == commit() and re.fullmatch(rf"[0-9a-f]{{40}}(-dirty)?|{UNKNOWN}", commit())


def test_a_checkout_has_the_commit_of_git(copied):
    _repository(copied)
    found = commit_of(copied, copied / "jaxgait")
    assert re.fullmatch("[0-9a-f]{40}", found)
    (copied / "jaxgait" / "support" / "commits.py").write_text("changed")
    assert commit_of(copied, copied / "jaxgait") == f"{found}-dirty"


def test_without_git_the_record_of_the_build_counts(copied):
    assert commit_of(copied, copied / "jaxgait") == UNKNOWN == "unknown"
    (copied / "jaxgait" / RECORD).write_text("0123abcd\n")
    assert commit_of(copied, copied / "jaxgait") == "0123abcd"
    (copied / ".git").write_text("gitdir: /nowhere\n")  # of a copy of a worktree, which git does not know
    assert commit_of(copied, copied / "jaxgait") == "0123abcd"


@pytest.fixture
def hook(monkeypatch):
    """The hook of the build, with hatch's own part of it as far as it is used."""
    interface = type("BuildHookInterface", (), {"__init__": lambda self, root: setattr(self, "root", str(root))})
    name = "hatchling.builders.hooks.plugin.interface"
    for part in [name.rsplit(".", n)[0] for n in range(4, 0, -1)]:
        monkeypatch.setitem(sys.modules, part, types.ModuleType(part))
    monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(BuildHookInterface=interface))
    namespace = {}
    exec((ROOT / "hatch_build.py").read_text(), namespace)
    return namespace["CommitHook"]


def _included(hook, root, version="standard"):
    build = {"force_include": {}}
    made = hook(root)
    made.initialize(version, build)
    return {name: pathlib.Path(file).read_text().strip() for file, name in build["force_include"].items()}


def test_the_build_records_the_commit(hook, copied):
    assert _included(hook, copied) == {}
    _repository(copied)
    found = commit_of(copied, copied / "jaxgait")
    assert _included(hook, copied) == {"jaxgait/commit.txt": found}
    assert _included(hook, copied, "editable") == {}, "git knows it, also after the next commit"


def test_a_wheel_of_a_source_distribution_has_its_commit(hook, copied):
    (copied / "jaxgait" / RECORD).write_text("0123abcd\n")
    assert _included(hook, copied) == {"jaxgait/commit.txt": "0123abcd"}
