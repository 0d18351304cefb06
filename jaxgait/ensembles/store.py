"""A scan on disk: a Zarr group that any reader can open, filled block by block, safe to kill at any moment.

    scan.zarr/
      zarr.json, NAME/zarr.json       labels, units, provenance
      NAME/c/0/3                      one file per result and block, raw little-endian numbers
      .jaxgait/plan.json              fingerprint of the scan; another scan is rejected
      .jaxgait/labels.json            checksums of the coordinates, and of labels, units and provenance
      .jaxgait/manifest.jsonl         one line per finished block: its checksum and how its trajectories ended
      .jaxgait/lock                   locked by the process that writes
      .jaxgait/sessions.jsonl         when and where the scan was worked on

A block's files are written elsewhere, renamed into place, the statuses last, and flushed; then its line is appended.
A block without a line does not count. The attribute `complete` of the group is 0 until all blocks have one, and then 1.
Blocks are independent, so a resumed scan has the same bytes as an uninterrupted one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import platform
import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from jaxgait.ensembles import checksums, locks
from jaxgait.ensembles.checksums import COMPLETE, LABELS, MANIFEST, MAX_NAMED, METADATA, PLAN, SCHEMA_VERSION, STATUS
from jaxgait.ensembles.disk_space import lack
from jaxgait.ensembles.fingerprint import differences, fingerprint
from jaxgait.ensembles.labels import Description, attributes, coordinates, descriptions, with_promotions
from jaxgait.ensembles.objects import Opaque
from jaxgait.ensembles.plan import Plan, fill_value
from jaxgait.solve.dataset import made_by
from jaxgait.support import checks, files, xr
from jaxgait.support.checks import by_name
from jaxgait.support.notes import without_library_warnings

OF_FILES = (".nc", ".h5", ".hdf5", ".csv", ".json")
"""Endings of names that a new store must not have."""
LOCK = ".jaxgait/lock"
"""The file that the process that writes in a store keeps locked."""
MAX_DIFFERENCES = 8
"""Largest number of differences between two scans to name."""
_ADVICE = {
    errno.ENOENT: "choose another path",
    errno.ENOSPC: "free some disk space",
    errno.EDQUOT: "free some of your disk quota",
    errno.EFBIG: "allow larger files (ulimit -f)",
    errno.EROFS: "make the folder writable",
    errno.EACCES: "make the folder writable",
    errno.EPERM: "make the folder writable",
    errno.ENOLCK: "choose a disk that has file locks",
    errno.ENOTDIR: "no part of its path may be a file",
    errno.EEXIST: "no part of its path may be a file",
}


def store_library(module: str) -> Any:
    """Imports a library of the extra `store`.

    Raises:
        ModuleNotFoundError: if it is missing, with what to install.
    """
    return checks.library(module, "stores and clusters need", '"jaxgait[store]"')


class StoreError(RuntimeError):
    """A scan's store cannot be created, resumed, read or written; its present contents are safe."""


class Store:
    """The store of one scan, opened for writing. Use `open_store`."""

    def __init__(self, path: pathlib.Path, plan: Plan, done: dict[int, dict[str, Any]]) -> None:
        self.path = path
        self.plan = plan
        self.done = done
        self._described = descriptions(plan)
        self._extra = {name: len(d.shape) for name, d in self._described.items()}

    @property
    def missing(self) -> list[int]:
        """Blocks that are still to be run, in order."""
        return [block for block in range(self.plan.size) if block not in self.done]

    def write(self, block: int, results: dict[str, np.ndarray]) -> None:
        """Writes the results of one block, (members, ...), all or nothing.

        Raises:
            StoreError: if they cannot be written.
        """
        try:
            checksum, chunks = hashlib.sha256(), {}
            for name in sorted(self._described):
                content = self._content(block, results[name], self._described[name])
                checksum.update(content)
                chunks[name] = self._file(name, block)
                if name != STATUS:
                    _moved_into(self.path, chunks[name], content)
            status = self._content(block, results[STATUS], self._described[STATUS])
            _moved_into(self.path, chunks[STATUS], status)  # last: who reads it finds all other results
            inside = {folder for file in chunks.values() for folder in file.parents if folder.is_relative_to(self.path)}
            files.flush(*chunks.values(), *inside)
            codes, counts = np.unique(results[STATUS], return_counts=True)
            histogram = {str(c): int(n) for c, n in zip(codes, counts, strict=True)}
            line = {"block": block, "sha256": checksum.hexdigest(), "status": histogram}
            _append(self.path / MANIFEST, line)
        except OSError as error:
            raise self._failure(f"block {block} could not be written", error) from error
        self.done[block] = line

    def close(self) -> None:
        """Sorts the manifest and marks the store, if the scan is complete.

        Raises:
            StoreError: if they cannot be written.
        """
        if self.missing:
            return
        try:
            self._write_manifest()
            self._mark()
        except OSError as error:
            raise self._failure("the scan could not be marked as complete", error) from error

    def check(self) -> list[int]:
        """Blocks whose files fail their checksum."""
        return checksums.damaged_blocks(self.path, self._extra, self.plan.blocks, self.done)

    def forget(self, blocks: list[int]) -> None:
        """Removes blocks, so that they are rerun, and until then read as not run."""
        self.done = {block: line for block, line in self.done.items() if block not in blocks}
        self._mark()
        chunks = [self._file(name, block) for name in (STATUS, *self._described) for block in blocks]
        for chunk in chunks:
            chunk.unlink(missing_ok=True)
        files.flush(*{chunk.parent for chunk in chunks if chunk.parent.is_dir()})
        self._write_manifest()  # last: until then the blocks are known to be damaged

    def _file(self, name: str, block: int) -> pathlib.Path:
        """The chunk of a result and a block."""
        return checksums.chunk_file(self.path, name, self._extra, self.plan.blocks, block)

    def _mark(self) -> None:
        """Records in the attributes whether the scan is complete, unless they already say so."""
        metadata = json.loads((self.path / METADATA).read_bytes())
        complete = int(not self.missing)
        if metadata["attributes"].get(COMPLETE) != complete:
            metadata["attributes"][COMPLETE] = complete
            _write_file(self.path, self.path / METADATA, json.dumps(metadata, indent=2).encode())

    def _content(self, block: int, values: np.ndarray, described: Description) -> bytes:
        """A Zarr chunk: the block's members as a box, padded at the far edges."""
        region = self.plan.region(block)
        box = tuple(r.stop - r.start for r in region)
        chunk = np.full(self.plan.block_shape + described.shape, fill_value(described.dtype), described.dtype)
        chunk[tuple(slice(n) for n in box)] = values.reshape(box + described.shape)
        return chunk.astype(described.dtype.newbyteorder("<")).tobytes()

    def _write_manifest(self) -> None:
        lines = "".join(json.dumps(self.done[block]) + "\n" for block in sorted(self.done))
        _write_file(self.path, self.path / MANIFEST, lines.encode())

    def _failure(self, what: str, error: OSError) -> StoreError:
        return StoreError(
            f"{self.path}: {what}: {error.strerror or error}. {len(self.done)} of {self.plan.size} blocks are safe; "
            f"{_advice(error)} and run the same command again to continue."
        )


@contextlib.contextmanager
def open_store(path: str | os.PathLike[str], plan: Plan, *, repair: bool = False) -> Iterator[Store]:
    """Opens the store of a scan for writing: a new one, or one that was begun with the same plan.

    An old store keeps its own division into blocks, which does not affect the results.

    Args:
        path: the store's directory.
        plan: the scan.
        repair: whether to rerun damaged blocks instead of raising an error.

    Raises:
        StoreError: if the disk is full or not writable, if the path holds something else (another scan, one with an
            older schema, in use, or damaged), or if the scan depends on what cannot be compared.
    """
    root = root_of(path)
    if not root.exists():
        _create(root, plan)
    with _locked(root):
        try:
            store = _checked(root, plan, repair)
        except OSError as error:
            raise _unusable(root, "cannot be continued", error) from error
        yield store
        store.close()


def _checked(root: pathlib.Path, plan: Plan, repair: bool) -> Store:
    """Checks the store of a scan and opens it with its undamaged blocks."""
    plan = _same_scan(root, plan)
    _repair_labels(root, plan, repair)
    if not (root / MANIFEST).exists() and not repair:
        raise StoreError(f"{root}: damaged: {root / MANIFEST} is missing; repair=True (--repair) reruns all blocks")
    store = Store(root, plan, checksums.read_manifest(root, plan.size))
    shutil.rmtree(root / ".jaxgait" / "tmp", ignore_errors=True)
    damaged = store.check()
    if damaged and not repair:
        raise StoreError(
            f"{root}: damaged: {checksums.failing([f'block {block}' for block in damaged])}. "
            f"The other {len(store.done) - len(damaged)} blocks are good; repair=True (--repair) reruns these."
        )
    store.forget(damaged)  # also drops an incomplete line
    session = {**made_by(), "host": platform.node(), "blocks_done_before": len(store.done)}
    _append(root / ".jaxgait" / "sessions.jsonl", session)
    return store


def finished(root: pathlib.Path, plan: Plan) -> tuple[Plan, frozenset[int]]:
    """The plan with the blocks of its store, and those that are finished.

    Raises:
        StoreError: if the path holds another scan, or none.
    """
    plan = _same_scan(root, plan)
    return plan, frozenset(checksums.read_manifest(root, plan.size))


@by_name()
def read_store(path: str | os.PathLike[str], *, check: bool = True) -> xr.Dataset:
    """Opens a scan for reading, lazily, even while it runs: members that have not run yet have `status` -1.

    Their other results are NaN, -1 (integers) and False. All results, even if read later, are those at the time of
    opening, in the order in which the model declares them.

    Args:
        path: the store's directory.
        check: whether to compare all files with their checksums first, which reads the whole store
            once: 1 s for a million members with nine results in 4000 blocks.

    Raises:
        TypeError: for anything but a path.
        FileNotFoundError: if there is no such directory; also later, if it is moved or deleted before results are read.
        StoreError: if files are damaged, with the blocks, coordinates and metadata that they belong to, and for a
            directory that is not a Zarr store or whose metadata are unreadable.

    Warns:
        UserWarning: for a store of another program, such as of `to_zarr`, whose files cannot be checked; and for an
            interrupted scan: members are still to be run, or to be rerun because their block was not recorded, and no
            process is running it. Where the system cannot tell whether one is, there is no warning.

    Examples:
        >>> from jaxgait import Bungee, ensemble
        >>> from jaxgait.ensembles import read_store
        >>> scan = ensemble(Bungee(), {"mass": [60.0, 80.0]}, duration=20.0, observe=["clearance"], store="scan.zarr")
        >>> print(read_store("scan.zarr").status.values)  # both completed
        [0 0]
    """
    root = _existing(path)
    if check and (damage := checksums.damage(root)):
        raise StoreError(f"{root}: damaged: {damage}; read_store(path, check=False) reads it as it is")
    if any(checksums.unfinished(root)) and locks.is_free(root / LOCK):
        checksums.warn_of_interruption(root)
    library, place = store_library("jaxgait.ensembles.snapshot_store"), root.absolute()  # in case of os.chdir
    try:
        data = xr.open_zarr(library.SnapshotStore(place, read_only=True), chunks=None)
    except (FileNotFoundError, ValueError) as error:
        if not (root / PLAN).is_file():
            raise StoreError(f"{root} is not a Zarr store: give the directory that --store or store= named") from error
        raise StoreError(f"{root}: zarr.json is unreadable, so that no array is found; {checksums.REPAIR}") from error
    if not (root / PLAN).parent.is_dir():
        checks.warn_user(f"{root} has no records of jaxgait (.jaxgait): whether its files are complete is not checked")
    try:
        declared = json.loads((root / PLAN).read_text())["results"]
        names = dict.fromkeys(name for name in [*declared, *data.data_vars] if name in data.data_vars)
    except (OSError, ValueError, LookupError, TypeError):  # of another program
        names = data.data_vars
    own = data[[*names]].assign_coords(data.coords)  # also those of arrays, along dimensions of their own
    own.encoding["source"] = str(place)
    return with_promotions(own)


def damaged(path: str | os.PathLike[str]) -> list[int]:
    """Blocks of a store whose files fail their checksum; also while the scan runs.

    Raises:
        TypeError: for anything but a path.
        FileNotFoundError: if there is no such directory.
        StoreError: for a store of another program, and for one whose own records are damaged.

    Examples:
        >>> import pathlib
        >>> from jaxgait import Bungee, ensemble
        >>> from jaxgait.ensembles import damaged
        >>> scan = ensemble(Bungee(), {"mass": [60.0, 80.0]}, duration=20.0, observe=["clearance"], store="scan.zarr")
        >>> pathlib.Path("scan.zarr/clearance/c/0").unlink()
        >>> damaged("scan.zarr")
        [0]
    """
    found = checksums.failing_blocks(root := _existing(path))
    if found is None:
        lost = " or ".join(checksums.lost_records(root) or [PLAN, METADATA])
        raise StoreError(f"{root}: its blocks cannot be checked: {lost} is missing or unreadable")
    return found


def _existing(path: str | os.PathLike[str]) -> pathlib.Path:
    root = root_of(path)
    if not root.is_dir():
        raise FileNotFoundError(f"{root}: {'a file; a store is a directory' if root.exists() else 'no such store'}")
    return root


def root_of(path: str | os.PathLike[str]) -> pathlib.Path:
    """The folder of a store that is to be written or read.

    Raises:
        TypeError: for anything but a path.
        StoreError: for an empty path, and for an address.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"a store is named by its path, such as 'scan.zarr', got {checks.shown(path)}")
    if not os.fspath(path):  # which would be the current folder
        raise StoreError("the path of the store is empty: name a folder, such as 'scan.zarr'")
    if files.is_address(path):
        raise StoreError(f"{path} is an address, and a store is a folder: name one here or on a shared disk")
    return files.expanded(path)


def _create(root: pathlib.Path, plan: Plan) -> None:
    """Creates an empty store, all or nothing."""
    if root.suffix.lower() in OF_FILES:
        name = root.with_suffix("" if root.stem.lower().endswith(".zarr") else ".zarr").name
        raise StoreError(f"{root}: a store is a folder: name it {name}, or write a file (--out)")
    draft = files.draft_of(root)
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir()  # raises where nothing can be written
        draft.rmdir()
        if lacking := lack(root.parent, plan):
            raise StoreError(f"{root}: {lacking}")
        _write_template(draft, root, plan)
        files.flush(draft, *draft.rglob("*"))
        try:
            os.rename(draft, root)
        except OSError:
            if not root.is_dir():  # otherwise another process was faster, and the lock decides between us
                raise
        files.flush(root.parent)
    except OSError as error:
        raise _unusable(root, "cannot be created", error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write_template(draft: pathlib.Path, root: pathlib.Path, plan: Plan) -> None:
    zarr = store_library("zarr")
    attrs = attributes(plan)
    del attrs["created"]  # recorded in sessions.jsonl; the scan is the same whenever it is run
    labels, described = xr.Dataset(coords=coordinates(plan), attrs={**attrs, COMPLETE: 0}), descriptions(plan)
    with without_library_warnings():  # zarr warns of strings and of consolidated metadata
        labels.to_zarr(draft, zarr_format=3, consolidated=False)
        group = zarr.open_group(draft, mode="r+")
        for name, d in described.items():
            group.create_array(
                name,
                shape=plan.members.shape + d.shape,
                chunks=plan.block_shape + tuple(max(n, 1) for n in d.shape),  # (newer zarr takes no empty ones)
                dtype=d.dtype,
                compressors=None,
                fill_value=fill_value(d.dtype),
                dimension_names=plan.members.dims + d.dims,
                attributes=d.attrs,
            )
        zarr.consolidate_metadata(draft)
    (draft / PLAN).parent.mkdir()
    (draft / LABELS).write_bytes(_label_checksums(draft, plan))
    (draft / PLAN).write_text(json.dumps({"schema": SCHEMA_VERSION, **_fingerprint(root, plan)}, indent=1))
    (draft / MANIFEST).touch()
    (draft / LOCK).touch()


def _fingerprint(root: pathlib.Path, plan: Plan) -> dict[str, Any]:
    try:
        return fingerprint(plan)
    except Opaque as error:
        raise StoreError(f"{root} cannot hold this scan: {error}") from error


def _label_checksums(root: pathlib.Path, plan: Plan) -> bytes:
    return json.dumps(checksums.of_labels(root, coordinates(plan), descriptions(plan)), indent=1).encode()


def _same_scan(root: pathlib.Path, plan: Plan) -> Plan:
    """The plan with the store's own blocks, if the store holds the same scan."""
    try:
        stored = json.loads((root / PLAN).read_text())
    except (OSError, ValueError) as error:
        raise StoreError(f"{root} exists and is not a scan: choose another path ({error})") from error
    schema = stored.pop("schema", 0)
    if schema != SCHEMA_VERSION:
        age = "an older" if schema < SCHEMA_VERSION else "a newer"
        raise StoreError(
            f"{root} was written by {age} version ({_writer(root)}, schema {schema}; this one has "
            f"{SCHEMA_VERSION}) and cannot be continued: read it with `read_store`, finish it with that version, or "
            "choose another path"
        )
    if len(stored["blocks"]) == len(plan.block_shape):
        plan = replace(plan, block_shape=tuple(stored["blocks"]))
    wanted = json.loads(json.dumps(_fingerprint(root, plan)))
    different = differences(stored, wanted)
    if different:
        code = any(sentence.startswith("the source of jaxgait") for sentence in different)
        older = f"; to resume it, use the version that began it ({_writer(root)})" if code else ""
        listed = "; ".join(different[:MAX_DIFFERENCES]) + "; ..." * (len(different) > MAX_DIFFERENCES)
        raise StoreError(f"{root} holds another scan: choose another path for this one. Differences: {listed}{older}")
    return plan


def _writer(root: pathlib.Path) -> str:
    """The version of jaxgait that began a store, if recorded."""
    try:
        attrs = json.loads((root / METADATA).read_text())["attributes"]
        return "jaxgait " + " of commit ".join(part for part in (attrs["jaxgait"], attrs["commit"][:8]) if part)
    except (OSError, ValueError, KeyError):
        return "jaxgait of unknown version"


def _repair_labels(root: pathlib.Path, plan: Plan, repair: bool) -> None:
    """Rewrites damaged metadata and coordinates; without `repair`, damage is an error."""
    wanted = [METADATA, *(f"{name}/zarr.json" for name in {**coordinates(plan), **descriptions(plan)})]
    lost = [*dict.fromkeys([*(n for n in wanted if not checksums.is_json(root / n)), *checksums.damaged_labels(root)])]
    if lost and not repair:
        raise StoreError(
            f"{root}: damaged: {checks.first_few(lost, MAX_NAMED)}; repair=True (--repair) rewrites these files"
        )
    if lost:
        draft = root / ".jaxgait" / "tmp" / f"labels-{os.getpid()}"
        draft.parent.mkdir(exist_ok=True)
        _write_template(draft, root, plan)
        again = {name.partition("/")[0] for name in lost if name != LABELS}
        again |= {METADATA, *coordinates(plan)} if LABELS in lost else set()
        for file in (file for name in again for file in (draft / name, *(draft / name).rglob("*")) if file.is_file()):
            content = file.read_bytes()
            content = checksums.with_additions(content, root) if file == draft / METADATA else content
            _write_file(root, root / file.relative_to(draft), content)
        _write_file(root, root / LABELS, _label_checksums(root, plan))


@contextlib.contextmanager
def _locked(root: pathlib.Path) -> Iterator[None]:
    """Keeps other processes from writing in a store."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locks.exclusive(root / LOCK))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise StoreError(f"{root} exists and is not a scan: choose another path") from error
        except BlockingIOError as error:
            raise StoreError(f"{root} is in use: another process or thread is running this scan") from error
        except OSError as error:
            raise _unusable(root, "cannot be locked", error) from error
        yield


def _unusable(root: pathlib.Path, what: str, error: OSError) -> StoreError:
    return StoreError(f"{root} {what}: {error.strerror or error}; {_advice(error)}")


def _advice(error: OSError) -> str:
    return _ADVICE.get(error.errno or 0, "fix this")


def _write_file(root: pathlib.Path, target: pathlib.Path, content: bytes) -> None:
    """Replaces a file atomically."""
    _moved_into(root, target, content, flushed=True)
    files.flush(target.parent)


def _moved_into(root: pathlib.Path, target: pathlib.Path, content: bytes, *, flushed: bool = False) -> None:
    """Writes a file elsewhere and renames it; if `flushed`, a loss of power leaves the old file or the new one."""
    draft = root / ".jaxgait" / "tmp" / f"{os.getpid()}"
    for folder in (draft.parent, target.parent):
        folder.mkdir(parents=True, exist_ok=True)
    draft.write_bytes(content)
    if flushed:
        files.flush(draft)
    os.replace(draft, target)


def _append(target: pathlib.Path, entry: dict[str, Any]) -> None:
    with open(target, "a") as file:
        file.write(json.dumps(entry) + "\n")
        file.flush()
        os.fsync(file.fileno())
