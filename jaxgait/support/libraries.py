"""Which files belong to Python and to installed libraries, and what is installed."""

from __future__ import annotations

import contextlib
import csv
import functools
import os
import pathlib
import sys
from typing import no_type_check

_USUAL = frozenset(["site-packages", "dist-packages"])
"""Names of folders that contain installed libraries and nothing else."""


@no_type_check  # (the tests' runtime type checks would slow these down: `native.identity` calls them often)
def is_installed(file: str) -> bool:
    """Whether a file belongs to Python or to an installed library.

    Libraries are in folders named site-packages or dist-packages. In other folders of Python's path (such as those of
    `pip install --target`) they are what the records of installed distributions list; other files there are the user's.
    """
    return _is_usual(file) or file in _recorded(search_path())


@no_type_check
def search_path() -> tuple[str, ...]:
    """The folders of Python's path; relative ones are taken from the current folder, as in the names of modules."""
    folders = tuple(p for p in sys.path if isinstance(p, str))  # (Python skips others, too)
    if all(map(os.path.isabs, folders)):
        return folders
    with contextlib.suppress(OSError):
        here = os.getcwd()
        return tuple(os.path.join(here, folder) for folder in folders)
    return tuple(filter(os.path.isabs, folders))  # the current folder was deleted


@no_type_check
@functools.cache
def installed(path: tuple[str, ...]) -> tuple[str, ...]:
    """The installed distributions in folders of a path, with the times at which they were installed."""
    return tuple(sorted(f"{e.name} {e.stat().st_mtime_ns}" for e in _descriptions(path)))


@no_type_check
@functools.cache
def _is_usual(file: str) -> bool:
    standard = os.path.dirname(os.__file__) + os.sep
    return not _USUAL.isdisjoint(pathlib.PurePath(file).parts) or file.startswith(standard)


@no_type_check
@functools.cache
def _recorded(path: tuple[str, ...]) -> frozenset[str]:
    """The files of libraries in folders of other names, and the libraries' own folders."""
    files: set[str] = set()
    for entry in _descriptions(path):
        folder = os.path.dirname(entry.path)
        with contextlib.suppress(OSError, csv.Error):  # no RECORD
            if not _is_usual(folder):
                lines = pathlib.Path(entry.path, "RECORD").read_text(encoding="utf-8", errors="replace").splitlines()
                listed = {f"{folder}{os.sep}{row[0].replace('/', os.sep)}" for row in csv.reader(lines) if row}
                files |= listed | {os.path.dirname(name) for name in listed} - {folder}
    return frozenset(files)


@no_type_check
def _descriptions(path: tuple[str, ...]) -> list[os.DirEntry[str]]:
    """The descriptions of distributions (`*.dist-info`) in folders of a path.

    Those of a checkout (`*.egg-info`) do not count: its folder contains no libraries.
    """
    found: list[os.DirEntry[str]] = []
    for folder in dict.fromkeys(path):
        end = "-info" if pathlib.PurePath(folder).name in _USUAL else ".dist-info"
        with contextlib.suppress(OSError):  # missing, or not a folder
            found += [entry for entry in os.scandir(folder) if entry.name.endswith(end)]
    return found
