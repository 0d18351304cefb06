"""The commit that a result was computed with: of a checkout, or of the one that an installed package was built from.

The build of the package (`hatch_build.py`) runs this file alone: it imports nothing but Python's own modules.
"""

from __future__ import annotations

import functools
import pathlib
import subprocess

RECORD = "commit.txt"
"""The file in an installed package, and in a source distribution, that names the commit."""
UNKNOWN = "unknown"
"""Instead of a commit, for a copy of the source without its history and without the record."""


@functools.cache
def commit() -> str:
    """The commit of this package, of forty hexadecimal digits; "-dirty" follows if it had local changes.

    Returns:
        `UNKNOWN` for a copy of the source that neither git nor a build has named.

    Examples:
        >>> from jaxgait.support.commits import commit
        >>> bool(commit())
        True
    """
    package = pathlib.Path(__file__).parent.parent
    return commit_of(package.parent, package)


def commit_of(root: pathlib.Path, package: pathlib.Path) -> str:
    """The commit of a checkout at `root`, otherwise what the build has recorded in its folder `package`.

    Examples:
        >>> import pathlib, tempfile
        >>> from jaxgait.support.commits import commit_of
        >>> copied = pathlib.Path(tempfile.mkdtemp())
        >>> commit_of(copied, copied / "jaxgait")
        'unknown'
    """
    found = _by_git(root) if (root / ".git").exists() else ""
    if not found and (package / RECORD).is_file():
        found = (package / RECORD).read_text().strip()
    return found or UNKNOWN


def _by_git(root: pathlib.Path) -> str:
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
