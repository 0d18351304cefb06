"""Records the commit in what hatch builds: a wheel of a checkout, or of a source distribution, knows it without git."""

import pathlib
import runpy
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Adds the file `jaxgait/commit.txt` to wheels and source distributions, unless the commit is unknown."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Names the commit of this checkout, or repeats the record of a source distribution."""
        root = pathlib.Path(self.root)
        commits = runpy.run_path(str(root / "jaxgait" / "support" / "commits.py"))
        found = commits["commit_of"](root, root / "jaxgait")
        if version == "editable" or found == commits["UNKNOWN"]:
            return
        self._folder = tempfile.TemporaryDirectory()
        record = pathlib.Path(self._folder.name, commits["RECORD"])
        record.write_text(found + "\n")
        build_data["force_include"][str(record)] = f"jaxgait/{commits['RECORD']}"
