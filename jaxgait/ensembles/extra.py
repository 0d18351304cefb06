"""Optional libraries, imported on demand."""

from __future__ import annotations

import importlib
from typing import Any


def store_library(module: str) -> Any:
    """Imports a library of the extra `store`.

    Raises:
        ModuleNotFoundError: if it is missing, with what to install.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = f'stores and clusters need {error.name}: pip install "jaxgait[store]"'
        raise ModuleNotFoundError(message, name=error.name) from error
