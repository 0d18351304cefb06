"""Checksums of a store's files: whether blocks, coordinates and metadata (with the provenance) are still as written."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jaxgait.support.checks import count_of, first_few, warn_user

SCHEMA_VERSION = 4
"""Version of a store's files; incremented whenever their meaning changes."""
PLAN = ".jaxgait/plan.json"
"""The file that says what the scan is."""
LABELS = ".jaxgait/labels.json"
"""The file with checksums of the coordinates and of the metadata."""
STATUS = "status"
"""The result that says how each member ended; its file is the last of a block to be written."""
MANIFEST = ".jaxgait/manifest.jsonl"
"""The file with a line for each finished block."""
METADATA = "zarr.json"
"""The file with the attributes of a store and the descriptions of its arrays that readers use."""
COMPLETE = "complete"
"""Attribute of a store: 1 once all members have run, 0 before. A number, since netCDF has no booleans."""
MAX_NAMED = 8
"""Largest number of damaged blocks and files to name."""
REPAIR = "repair=True (--repair) in the call that wrote them writes them again"
"""What to do about damaged files."""
_PART = f"{METADATA}: "
"""Prefix of metadata in `LABELS`, which are checked part by part: other programs may add attributes and arrays."""


def damage(root: pathlib.Path) -> str:
    """Describes the damage of a store in a sentence; empty if there is none, and for a store of another program."""
    lost = lost_records(root)
    found = [f"without {' and '.join(lost)}, its blocks cannot be checked"] if lost else []
    if bad := [*(f"block {block}" for block in failing_blocks(root) or ()), *damaged_labels(root)]:
        found += [f"do not trust {failing(bad)}; {REPAIR}"]
    return "; ".join(found)


def failing(names: Sequence[str]) -> str:
    """Names the first few damaged blocks and files, and what is wrong with them."""
    return f"{first_few(names, MAX_NAMED)}, whose files fail their checksum"


def failing_blocks(root: pathlib.Path) -> list[int] | None:
    """Blocks of a store whose files fail their checksum; None if they cannot be checked."""
    layout = None if lost_records(root) else _layout(root)
    return None if layout is None else damaged_blocks(root, layout.extra, layout.grid, layout.done)


class _Layout(NamedTuple):
    """How a store is divided into blocks."""

    sizes: tuple[int, ...]
    """Members along each dimension."""
    blocks: tuple[int, ...]
    """Members of a block along each dimension."""
    extra: dict[str, int]
    """As in `chunk_file`."""
    done: dict[int, dict[str, Any]]
    """The finished blocks."""

    @property
    def grid(self) -> tuple[int, ...]:
        """Blocks along each dimension."""
        return tuple(-(-n // b) for n, b in zip(self.sizes, self.blocks, strict=True))

    def left(self, root: pathlib.Path) -> dict[int, bool]:
        """The unfinished blocks, and whether results of each are written nevertheless."""
        blocks = {*range(math.prod(self.grid))} - self.done.keys()
        return {b: chunk_file(root, STATUS, {STATUS: 0}, self.grid, b).is_file() for b in blocks}


def _layout(root: pathlib.Path) -> _Layout | None:
    """The layout of a store; None if its files cannot be read as those of this version (see `lost_records`)."""
    try:
        plan = json.loads((root / PLAN).read_text())
        arrays = json.loads((root / METADATA).read_text())["consolidated_metadata"]["metadata"]
        dims = plan["dimensions"]
        found = _Layout(tuple(dims.values()), tuple(plan["blocks"]), {}, {})
        count = len(found.grid)
        named = {name: arrays[name]["dimension_names"] for name in plan["results"] if name in arrays}
        extra = {name: len(own) - count for name, own in named.items() if own[:count] == list(dims)}
        return found._replace(extra=extra, done=read_manifest(root, math.prod(found.grid)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return None


def damaged_blocks(
    root: pathlib.Path, extra: Mapping[str, int], grid: tuple[int, ...], done: Mapping[int, Mapping[str, Any]]
) -> list[int]:
    """The finished blocks whose results are unreadable or fail their common checksum; arguments as in `chunk_file`."""
    found = []
    for block, line in sorted(done.items()):
        checksum = hashlib.sha256()
        for name in sorted(extra):
            content = _content(chunk_file(root, name, extra, grid, block))
            checksum.update(b"missing" if content is None else content)  # an array without elements has no file
        if checksum.hexdigest() != line["sha256"]:
            found.append(block)
    return found


def chunk_file(
    root: pathlib.Path, name: str, extra: Mapping[str, int], grid: tuple[int, ...], block: int
) -> pathlib.Path:
    """The file of a block of a result; `extra` counts each result's own dimensions, which the grid does not divide."""
    return root.joinpath(name, "c", *(str(i) for i in np.unravel_index(block, grid)), *["0"] * extra[name])


def read_manifest(root: pathlib.Path, size: int) -> dict[int, dict[str, Any]]:
    """The entries of finished blocks, of `size` in total; skips incomplete lines, which a killed process leaves."""
    manifest, done = root / MANIFEST, {}
    for line in manifest.read_text(errors="replace").splitlines() if manifest.exists() else ():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            if entry["block"] in range(size) and isinstance(entry["sha256"], str):
                done[entry["block"]] = entry
    return done


class Unfinished(NamedTuple):
    """Numbers of members in unfinished blocks of a store."""

    missing: int
    """Without results: their `status` is -1."""
    unconfirmed: int
    """With results but no recorded checksum: the scan was stopped in between, or is writing them right now."""


def unfinished(root: pathlib.Path) -> Unfinished:
    """The members whose results do not count yet; none for a store of another program or version."""
    layout = _layout(root)
    if layout is None or not (root / MANIFEST).is_file():
        return Unfinished(0, 0)
    along = zip(layout.sizes, layout.blocks, layout.grid, strict=True)
    lengths = [np.minimum(b, n - b * np.arange(g)) for n, b, g in along]  # blocks at the far edges are shorter
    members, found = functools.reduce(np.multiply.outer, lengths, np.int64(1)).ravel(), [0, 0]
    for block, is_written in layout.left(root).items():
        found[is_written] += int(members[block])
    return Unfinished(*found)


@dataclass(frozen=True)
class Unwritten:
    """What a store does not hold yet."""

    results: frozenset[str] = frozenset()
    """Names of the arrays that are divided into blocks."""
    blocks: frozenset[tuple[str, ...]] = frozenset()
    """Indices of the blocks without results, as in the names of their files."""

    def __contains__(self, file: str) -> bool:
        """Whether a file, such as "height/c/3/0", is one of these results."""
        name, _, index = file.partition("/c/")
        count = len(next(iter(self.blocks), ()))
        return name in self.results and tuple(index.split("/")[:count]) in self.blocks


def unwritten(root: pathlib.Path) -> Unwritten:
    """The blocks without results in a store that is being filled; none for a store of another program."""
    if (layout := _layout(root)) is None:
        return Unwritten()
    left = [block for block, is_written in layout.left(root).items() if not is_written]
    index = np.unravel_index(np.array(left, dtype=int), layout.grid)
    return Unwritten(frozenset(layout.extra), frozenset(zip(*(map(str, i.tolist()) for i in index), strict=True)))


def warn_of_interruption(root: pathlib.Path) -> None:
    """Warns of members still to be run, if no process is running the scan any more."""
    left = sum(unfinished(root))
    if left:
        many = count_of(left, "member is", "members are")
        how = "the call or command that began it continues it"
        warn_user(f"{root}: {many} still to be run: the scan was interrupted; {how}")


def lost_records(root: pathlib.Path) -> list[str]:
    """Missing or unreadable files of a store without which its blocks cannot be checked."""
    lost = []
    if not (root / PLAN).parent.is_dir():
        return []  # of another program
    try:
        json.loads((root / PLAN).read_text())
    except (OSError, ValueError):
        lost.append(PLAN)
    return lost if _content(root / MANIFEST) is not None else [*lost, MANIFEST]


def is_json(file: pathlib.Path) -> bool:
    """Whether a file is readable and describes something."""
    try:
        return isinstance(json.loads(file.read_bytes()), dict)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False


def damaged_labels(root: pathlib.Path) -> list[str]:
    """Files of a store's coordinates and metadata that fail their checksum, or the unreadable file of the checksums."""
    if not (root / ".jaxgait").is_dir() or _schema(root) != SCHEMA_VERSION:
        return []  # of another program or version
    try:
        written = json.loads((root / LABELS).read_text())
        metadata = _of_metadata(root)
        now = {name: metadata.get(name) if name.startswith(_PART) else _of_file(root / name) for name in written}
        changed = [name for name, checksum in written.items() if now[name] != checksum]
    except (OSError, ValueError, AttributeError):
        return [LABELS]
    return list(dict.fromkeys(METADATA if name.startswith(_PART) else name for name in changed))


def of_labels(root: pathlib.Path, coordinates: Iterable[str], results: Iterable[str]) -> dict[str, str]:
    """The content of `LABELS`: checksums by name, of the coordinates' files and the metadata that do not change."""
    numbers = (file for name in coordinates for file in (root / name).rglob("*") if file.is_file())
    found = {file.relative_to(root).as_posix(): _of_file(file) for file in sorted(numbers) if file.name != METADATA}
    ours = {"", *coordinates, *results}
    metadata = _of_metadata(root)
    metadata.pop(f"{_PART}/{COMPLETE}", None)
    return found | {name: x for name, x in metadata.items() if name.removeprefix(_PART).partition("/")[0] in ours}


def with_additions(metadata: bytes, root: pathlib.Path) -> bytes:
    """The metadata of a new store, with the attributes and arrays that other programs added to an old one, if any."""
    ours = json.loads(metadata)
    try:
        old = json.loads((root / METADATA).read_bytes())
        arrays, additions = ours["consolidated_metadata"]["metadata"], old["consolidated_metadata"]["metadata"]
        both = [(arrays[name], additions[name]) for name in arrays.keys() & additions.keys()]
        for new, before in [(ours, old), *both]:
            new["attributes"] = {**before["attributes"], **new["attributes"]}
        arrays |= {n: x for n, x in additions.items() if n not in arrays and (root / n / METADATA).is_file()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return metadata
    return metadata if ours == json.loads(metadata) else json.dumps(ours, indent=2).encode()


def _of_metadata(root: pathlib.Path) -> dict[str, str]:
    """Checksums of each attribute and of the rest of each array's description; empty if the metadata are unreadable.

    "NAME" is the description of an array, "NAME/KEY" one of its attributes, and "/KEY" an attribute of the store.
    """
    parts: dict[str, Any] = {}
    try:
        found = json.loads((root / METADATA).read_bytes())
        described = {"": {"attributes": found["attributes"]}, **found["consolidated_metadata"]["metadata"]}
        for name, one in described.items():
            parts[name] = {key: x for key, x in one.items() if key != "attributes"}
            parts |= {f"{name}/{key}": x for key, x in one["attributes"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    text = {name: json.dumps(part, sort_keys=True).encode() for name, part in parts.items()}
    return {f"{_PART}{name}": hashlib.sha256(content).hexdigest() for name, content in text.items()}


def _of_file(file: pathlib.Path) -> str:
    content = _content(file)
    return "missing" if content is None else hashlib.sha256(content).hexdigest()


def _content(file: pathlib.Path) -> bytes | None:
    """The bytes of a file; None if it is missing or unreadable."""
    try:
        return file.read_bytes()
    except OSError:
        return None


def _schema(root: pathlib.Path) -> int:
    """The version of a store's files; the current one if it cannot be read."""
    try:
        return int(json.loads((root / PLAN).read_text())["schema"])
    except (OSError, ValueError, LookupError, TypeError):
        return SCHEMA_VERSION
