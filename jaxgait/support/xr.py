"""xarray, imported on first use: `from jaxgait import xr`.

Importing it, with pandas, takes a fifth of our import time.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, concat, open_dataset, open_zarr, zeros_like

__all__ = ["DataArray", "Dataset", "concat", "open_dataset", "open_zarr", "zeros_like"]


def __getattr__(name: str) -> Any:
    """An attribute of xarray."""
    import xarray

    return getattr(xarray, name)
