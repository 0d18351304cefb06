"""The evaluations of a search in a file, so that the same search can resume without repeating them.

Every evaluation is one line of JSON, which preserves numbers to the last bit. The methods are deterministic: with the
same values they request the same points.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.optimization.evaluate import Evaluated
from jaxgait.support import files


class Row(NamedTuple):
    """One evaluation."""

    search: int
    """The search that requested it: the start, or the sweep along a front."""
    x: np.ndarray
    """The point in the unit box, (n,)."""
    evaluation: Evaluated
    """The values there, without a leading axis."""
    memory: Any = None
    """The evaluator's memory of this search, as lists; None if it has none."""


class Checkpoint:
    """The known evaluations by start and point; new ones are also appended to the file, if any."""

    def __init__(self, path: pathlib.Path | str | None, fingerprint: dict[str, Any]):
        """Reads the file, if it exists.

        Raises:
            ValueError: if it is not a checkpoint, if it is one of another search (with the differences), and for an
                address or a folder.
        """
        self._path, self._known = None if path is None else files.local(path), {}
        self.memories: dict[int, Any] = {}
        """The evaluator's last memory of each start in the file."""
        self._file: Any = None
        self._head = json.loads(json.dumps(fingerprint))
        if self._path is not None and self._path.is_dir():
            raise ValueError(f"a checkpoint is a file, but {self._path} is a folder: give a name in it")
        if self._path is not None and self._path.exists() and self._path.stat().st_size:
            self._read(self._path)

    def _read(self, path: pathlib.Path) -> None:
        try:
            lines = path.read_text().splitlines(keepends=True)
            head = json.loads(lines[0])
            rows = [_row(json.loads(line)) for line in lines[1:] if line.endswith("\n")]  # the last may be cut off
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is not a checkpoint of a search: {error}") from error
        if not isinstance(head, dict) or not head.keys() & self._head.keys():
            raise ValueError(f"{path} is not a checkpoint of a search: give another file")
        differs = [name for name in self._head | head if head.get(name) != self._head.get(name)]
        if differs:
            raise ValueError(
                f"{path} is the checkpoint of another search: {', '.join(differs)} differ; give another file"
            )
        for row in rows:
            self._keep(row)

    def __enter__(self) -> Checkpoint:
        if self._path is not None:
            whole = [json.dumps(self._head) + "\n", *(_line(row) for row in self._known.values())]
            files.text(self._path, "".join(whole))
            self._file = self._path.open("a")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def take(self, search: int, x: Float[np.ndarray, " n"]) -> Row | None:
        """A start's known evaluation at a point of the unit box (no dimension), or None."""
        return self._known.get((search, x.tobytes()))

    def add(self, row: Row) -> Row:
        """Adds a new evaluation."""
        self._known[row.search, row.x.tobytes()] = row
        if self._file is not None:
            self._file.write(_line(row))
            self._file.flush()
        return row

    def _keep(self, row: Row) -> None:
        self._known[row.search, row.x.tobytes()] = row
        if row.memory is not None:
            self.memories[row.search] = row.memory


def _line(row: Row) -> str:
    evaluation = [np.asarray(field).tolist() for field in row.evaluation]
    return json.dumps([row.search, row.x.tolist(), evaluation, row.memory]) + "\n"


def _row(line: list[Any]) -> Row:
    search, x, (values, slopes, status, multiplier), memory = line
    evaluation = Evaluated(np.array(values), np.array(slopes), np.int32(status), np.float64(multiplier))
    return Row(search, np.array(x), evaluation, memory)
