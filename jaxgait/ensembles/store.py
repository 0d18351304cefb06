"""A scan on disk: a Zarr group that any reader opens, filled block by block, safe to kill at any moment.

    scan.zarr/
      zarr.json, NAME/zarr.json       labels, units, provenance
      NAME/c/0/3                      one file per result and block, raw little-endian numbers
      .jaxgait/plan.json              what the scan is; another scan is refused
      .jaxgait/labels.json            checksums of the coordinates' numbers
      .jaxgait/manifest.jsonl         one line per finished block: its checksum and how its trajectories ended
      .jaxgait/sessions.jsonl         when and where the scan was worked on

A block's files are written elsewhere, flushed and renamed into place; then its line is appended. What has no line has
not happened. Blocks do not depend on each other, so a scan that was killed and continued has the bytes of one that was
not.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import math
import operator
import os
import pathlib
import platform
import shutil
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from jaxgait import files, xr
from jaxgait.ensembles.extra import store_library
from jaxgait.ensembles.fingerprint import differences, fingerprint
from jaxgait.ensembles.labels import Description, attributes, coordinates, descriptions, with_promotions
from jaxgait.ensembles.plan import Plan

SCHEMA = 3
"""Raised whenever the meaning of the files changes."""
_UNIT = 4096
"""Bytes in which most disks give room to files and folders."""
_DESCRIPTION, _PER_RESULT = 20, 3
"""Of such units: what a store takes before it holds results, and what each result takes before it has blocks."""

_ADVICE = {
    errno.ENOSPC: "free some disk space",
    errno.EDQUOT: "free some of your disk quota",
    errno.EROFS: "make the place writable",
    errno.EACCES: "make the place writable",
    errno.EPERM: "make the place writable",
    errno.ENOLCK: "choose a disk that has file locks",
    errno.ENOTDIR: "no part of its path may be a file",
    errno.EEXIST: "no part of its path may be a file",
}


class StoreError(RuntimeError):
    """A scan's store cannot be made, continued, read or written; what is in it already is safe."""


class Store:
    """The store of one scan, opened for writing. Use `open_store`."""

    def __init__(self, path: pathlib.Path, plan: Plan, lock: int, done: dict[int, dict[str, Any]]) -> None:
        self.path = path
        self.plan = plan
        self.done = done
        self._lock = lock
        self._described = descriptions(plan)
        self._extra = {name: len(d.shape) for name, d in self._described.items()}

    @property
    def missing(self) -> list[int]:
        """Blocks that are still to be run, in order."""
        return [block for block in range(self.plan.size) if block not in self.done]

    def write(self, block: int, results: dict[str, np.ndarray]) -> None:
        """Makes the results of one block permanent, all or nothing.

        Raises:
            StoreError: if the disk does not take them.
        """
        try:
            whole = hashlib.sha256()
            for name in sorted(self._described):
                content = self._content(block, results[name], self._described[name])
                whole.update(content)
                _write_file(self.path, _chunk(self.path, name, self._extra, self.plan.blocks, block), content)
            codes, counts = np.unique(results["status"], return_counts=True)
            histogram = {str(c): int(n) for c, n in zip(codes, counts, strict=True)}
            line = {"block": block, "sha256": whole.hexdigest(), "status": histogram}
            _append(self.path / ".jaxgait" / "manifest.jsonl", line)
        except OSError as error:
            raise self._failure(f"block {block} could not be written", error) from error
        self.done[block] = line

    def close(self) -> None:
        """Puts the manifest in order, if the scan is complete, and lets others write."""
        try:
            if not self.missing:
                self._write_manifest()
        finally:
            os.close(self._lock)

    def check(self) -> list[int]:
        """Blocks whose files are not what was written."""
        checksums = ((block, _checksum(self.path, self._extra, self.plan.blocks, block)) for block in sorted(self.done))
        return [block for block, found in checksums if found != self.done[block]["sha256"]]

    def forget(self, blocks: list[int]) -> None:
        """Strikes blocks out, so that they are run again."""
        self.done = {block: line for block, line in self.done.items() if block not in blocks}
        self._write_manifest()

    def _content(self, block: int, values: np.ndarray, described: Description) -> bytes:
        """A Zarr chunk: the block's members as a box; those at the far edges are filled up."""
        region = self.plan.region(block)
        box = tuple(r.stop - r.start for r in region)
        chunk = np.full(self.plan.block_shape + described.shape, fill_value(described.dtype), described.dtype)
        chunk[tuple(slice(n) for n in box)] = values.reshape(box + described.shape)
        return chunk.astype(described.dtype.newbyteorder("<")).tobytes()

    def _write_manifest(self) -> None:
        lines = "".join(json.dumps(self.done[block]) + "\n" for block in sorted(self.done))
        _write_file(self.path, self.path / ".jaxgait" / "manifest.jsonl", lines.encode())

    def _failure(self, what: str, error: OSError) -> StoreError:
        advice = _ADVICE.get(error.errno or 0, "mend that")
        return StoreError(
            f"{self.path}: {what}: {error.strerror or error}. {len(self.done)} of {self.plan.size} blocks are safe; "
            f"{advice} and run the same command again to continue."
        )


@contextlib.contextmanager
def open_store(path: str | os.PathLike[str], plan: Plan, *, any_blocks: bool, repair: bool = False) -> Iterator[Store]:
    """Opens the store of a scan to write in it: a new one, or one that was begun with the same plan.

    Args:
        path: the store's directory.
        plan: the scan.
        any_blocks: continue with the store's own division into blocks, whatever the plan's.
        repair: run blocks again whose files were damaged, instead of refusing to continue.

    Raises:
        StoreError: if the place is taken, too small or not writable, or if what it holds is another scan, of an older
            schema, in use, or damaged.
    """
    place = pathlib.Path(path)
    if not place.exists():
        _create(place, plan)
    lock = _lock(place)
    try:
        plan = _same_scan(place, plan, any_blocks)
        _mend_labels(place, plan, repair)
        store = Store(place, plan, lock, _read_manifest(place, plan.size, repair))
        _clear(place)
        damaged = store.check()
        if damaged and not repair:
            raise StoreError(
                f"{place}: damaged: block {', '.join(map(str, damaged))}, whose files fail their checksum. "
                f"The other {len(store.done) - len(damaged)} blocks are good; repair=True (--repair) runs these again."
            )
        store.forget(damaged)  # also drops a line cut short
        _append(place / ".jaxgait" / "sessions.jsonl", _session(plan, len(store.done)))
    except (OSError, StoreError) as error:
        os.close(lock)
        if isinstance(error, StoreError):
            raise
        raise _no_store(place, "cannot be continued", error) from error
    try:
        yield store
    finally:
        store.close()


def finished(path: str | os.PathLike[str], plan: Plan, *, any_blocks: bool) -> tuple[Plan, int]:
    """The plan with the blocks of a store that was begun with it, and how many of them it holds; nothing is changed.

    Args:
        path: the store's directory.
        plan: the scan.
        any_blocks: see `open_store`.

    Raises:
        StoreError: if it holds another scan, or none.
    """
    place = pathlib.Path(path)
    plan = _same_scan(place, plan, any_blocks)
    return plan, len(_read_manifest(place, plan.size))


def read_store(path: str | os.PathLike[str]) -> xr.Dataset:
    """Opens a scan for reading, lazily, also while it runs: members not run yet have `status` -1 and NaN results.

    Examples:
        >>> from jaxgait import Bungee, ensemble
        >>> from jaxgait.ensembles import read_store
        >>> scan = ensemble(Bungee(), {"mass": [60.0, 80.0]}, duration=20.0, observe=["clearance"], store="scan.zarr")
        >>> print(read_store("scan.zarr").status.values)  # both completed
        [0 0]
    """
    return with_promotions(xr.open_zarr(path, chunks=None))


def fill_value(dtype: np.dtype) -> Any:
    """What stands for "not run yet" in a result.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.ensembles.store import fill_value
        >>> print(fill_value(np.dtype(float)), fill_value(np.dtype(int)))  # results and statuses not run yet
        nan -1
    """
    if dtype.kind in "fc":
        return dtype.type(np.nan)
    return dtype.type(-1) if dtype.kind == "i" else dtype.type(0)


def damaged(path: str | os.PathLike[str]) -> list[int]:
    """Blocks of a store whose files are not what was written, by their checksums; also while the scan runs.

    Examples:
        >>> import pathlib
        >>> from jaxgait import Bungee, ensemble
        >>> from jaxgait.ensembles import damaged
        >>> scan = ensemble(Bungee(), {"mass": [60.0, 80.0]}, duration=20.0, observe=["clearance"], store="scan.zarr")
        >>> pathlib.Path("scan.zarr/clearance/c/0").unlink()
        >>> damaged("scan.zarr")
        [0]
    """
    place = pathlib.Path(path)
    try:
        plan = json.loads((place / ".jaxgait" / "plan.json").read_text())
        arrays = json.loads((place / "zarr.json").read_text())["consolidated_metadata"]["metadata"]
        dims = plan["dimensions"]
        grid = tuple(-(-n // b) for n, b in zip(dims.values(), plan["blocks"], strict=True))
        named = {name: arrays[name]["dimension_names"] for name in plan["results"] if name in arrays}
        extra = {name: len(found) - len(grid) for name, found in named.items() if found[: len(grid)] == list(dims)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return []  # of another program, or of an older one
    done = _read_manifest(place, math.prod(grid), lenient=True)
    return [b for b, line in sorted(done.items()) if _checksum(place, extra, grid, b) != line["sha256"]]


def damaged_labels(path: str | os.PathLike[str]) -> list[str]:
    """Files of a store's coordinates that are not what was written; of stores that keep no checksums of them, none."""
    try:
        written = json.loads(pathlib.Path(path, ".jaxgait", "labels.json").read_text())
        return [name for name, checksum in written.items() if _label(pathlib.Path(path, name)) != checksum]
    except (OSError, ValueError, AttributeError):
        return []


def disk_bytes(plan: Plan) -> int:
    """What the finished store of a plan takes of a disk, roughly: small files and folders take whole units of it."""
    units = _DESCRIPTION
    for described in descriptions(plan).values():
        grid = (*plan.blocks, *(1 for _ in described.shape))
        chunk = math.prod((*plan.block_shape, *described.shape)) * described.dtype.itemsize
        units += _PER_RESULT + sum(itertools.accumulate(grid[:-1], operator.mul)) + plan.size * -(-chunk // _UNIT)
    return units * _UNIT


def _create(place: pathlib.Path, plan: Plan) -> None:
    """Makes an empty store, or none at all."""
    members = math.prod(n * b for n, b in zip(plan.blocks, plan.block_shape, strict=True))
    need = members * sum(math.prod(d.shape) * d.dtype.itemsize for d in plan.results.values())
    draft = files.draft_beside(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(place.parent).free
        if need > free:
            raise StoreError(
                f"{place}: the scan needs {need / 1e9:.3g} GB and {free / 1e9:.3g} GB are free: scan fewer members, or "
                "keep observables instead of trajectories"
            )
        _write_template(draft, plan, descriptions(plan))
        _flush_all(draft)
        try:
            os.rename(draft, place)
        except OSError:
            if not place.is_dir():  # else another process was faster: it has the lock, or will have to wait for ours
                raise
        _flush_folder(place.parent)
    except OSError as error:
        raise _no_store(place, "cannot be made", error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write_template(draft: pathlib.Path, plan: Plan, described: dict[str, Description]) -> None:
    zarr = store_library("zarr")
    attrs = attributes(plan)
    del attrs["created"]  # sessions.jsonl knows; the scan itself is the same whenever it is run
    labels = xr.Dataset(coords=coordinates(plan), attrs=attrs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr warns of strings and of consolidated metadata
        labels.to_zarr(draft, zarr_format=3, consolidated=False)
        group = zarr.open_group(draft, mode="r+")
        for name, d in described.items():
            group.create_array(
                name,
                shape=plan.members.shape + d.shape,
                chunks=plan.block_shape + d.shape,
                dtype=d.dtype,
                compressors=None,
                fill_value=fill_value(d.dtype),
                dimension_names=plan.members.dims + d.dims,
                attributes=d.attrs,
            )
        zarr.consolidate_metadata(draft)
    numbers = sorted(file for file in draft.rglob("*") if file.is_file() and file.name != "zarr.json")
    (draft / ".jaxgait").mkdir()
    sums = {file.relative_to(draft).as_posix(): _label(file) for file in numbers}
    (draft / ".jaxgait" / "labels.json").write_text(json.dumps(sums, indent=1))
    plan_file = json.dumps({"schema": SCHEMA, **fingerprint(plan)}, indent=1)
    (draft / ".jaxgait" / "plan.json").write_text(plan_file)
    (draft / ".jaxgait" / "manifest.jsonl").touch()
    (draft / ".jaxgait" / "lock").touch()


def _same_scan(place: pathlib.Path, plan: Plan, any_blocks: bool) -> Plan:
    """The plan with the store's own blocks, if the store holds the same scan."""
    try:
        stored = json.loads((place / ".jaxgait" / "plan.json").read_text())
    except (OSError, ValueError) as error:
        raise StoreError(f"{place} exists and holds no scan: give another place ({error})") from error
    schema = stored.pop("schema", 0)
    if schema != SCHEMA:
        age = "an older" if schema < SCHEMA else "a newer"
        raise StoreError(
            f"{place} was written by {age} version ({_writer(place)}, schema {schema}; this one has {SCHEMA}) and "
            "cannot be continued: read it with `read_store`, finish it with that version, or give another place"
        )
    if any_blocks and len(stored["blocks"]) == len(plan.block_shape):
        plan = replace(plan, block_shape=tuple(stored["blocks"]))
    wanted = json.loads(json.dumps(fingerprint(plan)))
    different = differences(stored, wanted)
    if different:
        code = any(sentence.startswith("the source of jaxgait") for sentence in different)
        older = f"; the jaxgait that began it ({_writer(place)}) continues it" if code else ""
        raise StoreError(
            f"{place} holds another scan; to start this one, give another place. "
            f"What differs: {'; '.join(different)}{older}"
        )
    return plan


def _writer(place: pathlib.Path) -> str:
    """The jaxgait that began a store, as far as the store says."""
    try:
        attrs = json.loads((place / "zarr.json").read_text())["attributes"]
        return "jaxgait " + " of commit ".join(part for part in (attrs["jaxgait"], attrs["commit"][:8]) if part)
    except (OSError, ValueError, KeyError):
        return "jaxgait of unknown version"


def _read_manifest(place: pathlib.Path, size: int, lenient: bool = False) -> dict[int, dict[str, Any]]:
    """Finished blocks of so many. A line that was being written when the process was killed does not count.

    Raises:
        StoreError: if the manifest is gone, unless that is taken for no finished blocks (`lenient`).
    """
    manifest, done = place / ".jaxgait" / "manifest.jsonl", {}
    if not manifest.exists():
        if lenient:
            return done
        raise StoreError(f"{place}: damaged: {manifest} is gone; repair=True (--repair) runs all blocks again")
    for line in manifest.read_text(errors="replace").splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            if entry["block"] in range(size) and isinstance(entry["sha256"], str):
                done[entry["block"]] = entry
    return done


def _mend_labels(place: pathlib.Path, plan: Plan, repair: bool) -> None:
    """Writes the files again that say what a store holds, if one is damaged and that is asked for.

    Raises:
        StoreError: if one is damaged otherwise: the store could not be read.
    """
    wanted = ["zarr.json", *(f"{name}/zarr.json" for name in {**coordinates(plan), **descriptions(plan)})]
    lost = [*(name for name in wanted if not _is_json(place / name)), *damaged_labels(place)]
    if lost and not repair:
        raise StoreError(f"{place}: damaged: {', '.join(lost)}; repair=True (--repair) writes that again")
    if lost:
        draft = place / ".jaxgait" / "tmp" / f"labels-{os.getpid()}"
        draft.parent.mkdir(exist_ok=True)
        _write_template(draft, plan, descriptions(plan))
        again = [".jaxgait/labels.json", *dict.fromkeys(name.partition("/")[0] for name in lost)]
        for file in (file for name in again for file in (draft / name, *(draft / name).rglob("*")) if file.is_file()):
            _write_file(place, place / file.relative_to(draft), file.read_bytes())


def _label(file: pathlib.Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "missing"


def _is_json(file: pathlib.Path) -> bool:
    try:
        return isinstance(json.loads(file.read_bytes()), dict)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False


def _chunk(place: pathlib.Path, name: str, extra: Mapping[str, int], grid: tuple[int, ...], block: int) -> pathlib.Path:
    """The file of a result and block, of blocks in a grid; results have so many extra dimensions, each in one piece."""
    corner = np.unravel_index(block, grid)
    return place.joinpath(name, "c", *(str(int(i)) for i in corner), *["0"] * extra[name])


def _checksum(place: pathlib.Path, extra: Mapping[str, int], grid: tuple[int, ...], block: int) -> str:
    """Of all results of a block."""
    whole = hashlib.sha256()
    for name in sorted(extra):
        file = _chunk(place, name, extra, grid, block)
        whole.update(file.read_bytes() if file.exists() else b"missing")
    return whole.hexdigest()


def _lock(place: pathlib.Path) -> int:
    try:
        lock = os.open(place / ".jaxgait" / "lock", os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StoreError(f"{place} exists and holds no scan: give another place") from error
    except OSError as error:
        raise _no_store(place, "cannot be opened", error) from error
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system lifts it when the process dies
    except ImportError:
        pass  # no such locks on this system
    except BlockingIOError as error:
        os.close(lock)
        raise StoreError(f"{place} is in use: another process is running this scan") from error
    except OSError as error:
        os.close(lock)
        raise _no_store(place, "cannot be locked", error) from error
    return lock


def _no_store(place: pathlib.Path, what: str, error: OSError) -> StoreError:
    advice = _ADVICE.get(error.errno or 0, "mend that")
    return StoreError(f"{place} {what}: {error.strerror or error}; {advice}")


def _clear(place: pathlib.Path) -> None:
    shutil.rmtree(place / ".jaxgait" / "tmp", ignore_errors=True)


def _write_file(store: pathlib.Path, target: pathlib.Path, content: bytes) -> None:
    """Replaces a file all at once: after a crash it is the old one or the new one."""
    draft = store / ".jaxgait" / "tmp" / f"{os.getpid()}"
    for folder in (draft.parent, target.parent):
        folder.mkdir(parents=True, exist_ok=True)
    with open(draft, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, target)
    _flush_folder(target.parent)


def _append(target: pathlib.Path, entry: dict[str, Any]) -> None:
    with open(target, "a") as file:
        file.write(json.dumps(entry) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _flush_all(folder: pathlib.Path) -> None:
    """Brings all files of a folder to the disk, so that a power cut leaves whole ones."""
    for file in folder.rglob("*"):
        if file.is_file():
            with open(file, "rb+") as handle:
                os.fsync(handle.fileno())


def _flush_folder(folder: pathlib.Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # on Windows always
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _session(plan: Plan, done: int) -> dict[str, Any]:
    attrs = attributes(plan)
    known = {name: attrs[name] for name in ("created", "jaxgait", "commit", "versions", "device")}
    return {**known, "host": platform.node(), "blocks_done_before": done}
