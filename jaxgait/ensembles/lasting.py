"""A Zarr store as its readers see it. Imported on first use: zarr is an extra."""

from __future__ import annotations

from typing import Any

from zarr.storage import LocalStore


class LastingStore(LocalStore):
    """A folder in which missing chunks were not written yet; if the folder itself is gone, they are an error.

    zarr takes them for not written then, too, so that results that were opened before would become NaN.
    """

    async def get(self, *args: Any, **options: Any) -> Any:
        """The content of a file; None if it is missing.

        Raises:
            FileNotFoundError: if the folder was moved or deleted.
        """
        return self._checked(await super().get(*args, **options))

    def get_sync(self, *args: Any, **options: Any) -> Any:
        """As `get`, for versions of zarr that do not wait."""
        return self._checked(super().get_sync(*args, **options))

    def _checked(self, content: Any) -> Any:
        if content is None and not self.root.is_dir():
            raise FileNotFoundError(f"{self.root} was moved or deleted after it was opened: open it where it is now")
        return content
