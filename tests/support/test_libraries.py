"""Which files belong to libraries, and which to the user."""

import importlib
import os
import sys

import pytest

from jaxgait.ensembles import source
from jaxgait.native import dependencies
from jaxgait.support import checks, libraries
from jaxgait.support.libraries import is_installed


def install(folder, name):
    """A library of one file and one of a folder, with their record, as `pip install --target` leaves them."""
    (folder / name).mkdir()
    description = folder / f"{name}-1.0.dist-info"
    description.mkdir()
    record = [f"{name}.py,sha256=0,1", f"{name}/__init__.py,,", f'"{name}/a, b.py",,', f"{description.name}/RECORD,,"]
    (description / "RECORD").write_text("\n".join([*record, "../../bin/command,,", ""]))


def test_installations_in_any_folder_of_the_path_are_libraries(tmp_path, monkeypatch):
    """Folders of `pip install --target` have other names; a user's files may be in them, too."""
    install(tmp_path, "lib")
    installed = ["lib.py", "lib/__init__.py", "lib/a, b.py", "lib", "lib-1.0.dist-info/RECORD"]
    own = ["own.py", "lib/own.py", "lib.pyx", "libs/__init__.py", "own-1.0.dist-info/RECORD", ""]
    paths = {name: str(tmp_path / name) for name in (*installed, *own)}
    assert is_installed(os.__file__) and not is_installed(os.path.dirname(os.__file__) + "-mine/own.py")
    assert not any(map(is_installed, paths.values()))
    for entry in (str(tmp_path), f"{tmp_path}{os.sep}", "", "."):
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            patch.setattr(sys, "path", [entry, *sys.path])
            seen = {name: path.replace(str(tmp_path), f"{tmp_path}/.") for name, path in paths.items()}
            found = {name for name in paths if is_installed((seen if entry == "." else paths)[name])}
            assert found == set(installed), entry
    assert dependencies.owner(paths["lib.py"], "lib") == "own"  # (no longer on the path)


def test_relative_folders_of_the_path_are_those_of_the_current_folder(tmp_path, monkeypatch):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    install(one, "lib")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    for folder, expected in ((other, False), (one, True), (other, False)):
        monkeypatch.chdir(folder)
        assert is_installed(str(one / "lib.py")) is expected


def test_stores_and_messages_recognise_libraries_in_any_folder(tmp_path, monkeypatch):
    install(tmp_path, "library_of_this_test_too")
    (tmp_path / "library_of_this_test_too").rmdir()
    (tmp_path / "library_of_this_test_too.py").write_text("def divide(x):\n    return x / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    library = importlib.import_module("library_of_this_test_too")
    with pytest.raises(ZeroDivisionError) as error:
        library.divide(1)  # the line of the user
    assert source._is_library(library.__name__) and "the line of the user" in checks.location(error.value)


def test_a_checkout_contains_no_libraries(tmp_path, monkeypatch):
    (tmp_path / "own.egg-info").mkdir()
    (tmp_path / "own.egg-info" / "RECORD").write_text("own.py,,\n")
    (tmp_path / "prepared-1.0.dist-info").mkdir()  # without a record
    monkeypatch.setattr(sys, "path", [str(tmp_path), tmp_path, str(tmp_path / "missing"), *sys.path])
    assert not is_installed(str(tmp_path / "own.py"))
    assert dependencies.owner(dependencies.__file__, dependencies.__name__) == "package"


def test_installations_in_any_folder_are_listed(tmp_path, monkeypatch):
    path = (str(tmp_path), *sys.path)
    texts = [libraries.installed.__wrapped__(path)]
    for name in ("lib", "other"):
        install(tmp_path, name)
        texts.append(libraries.installed.__wrapped__(path))
    os.utime(tmp_path / "lib-1.0.dist-info", (1, 1))
    texts.append(libraries.installed.__wrapped__(path))
    (tmp_path / "own.egg-info").mkdir()
    assert len(set(texts)) == 4 and libraries.installed.__wrapped__(path) == texts[-1]
