"""A Zarr store as its readers see it. Imported on first use: zarr is an extra."""

from __future__ import annotations

from typing import Any

from zarr.storage import LocalStore

from jaxgait.ensembles.checksums import unwritten


class SnapshotStore(LocalStore):
    """A store that shows what it held when it was opened; if its folder is gone, reading raises an error.

    zarr takes missing chunks for unwritten ones, even if the whole folder is gone: results opened before would become
    NaN. Of a store that is being filled, all results are of the same members, whenever they are read.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._late = unwritten(self.root)

    async def get(self, key: str, *args: Any, **options: Any) -> Any:
        """The content of a file; None if it is missing.

        Raises:
            FileNotFoundError: if the folder was moved or deleted.
        """
        return self._checked(None if key in self._late else await super().get(key, *args, **options))

    def get_sync(self, key: str, **options: Any) -> Any:
        """As `get`, for versions of zarr that read synchronously."""
        return self._checked(None if key in self._late else super().get_sync(key, **options))

    def _checked(self, content: Any) -> Any:
        if content is None and not self.root.is_dir():
            raise FileNotFoundError(f"{self.root} was moved or deleted after it was opened: open it where it is now")
        return content
