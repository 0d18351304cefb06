"""A cache of limited size, which keeps what was used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any


class LRUCache:
    """A thread-safe cache of the values used last: one thread makes a value, and the others wait.

    Args:
        size: most values that are kept; those unused for longest go first.

    Examples:
        >>> from jaxgait.native.lru_cache import LRUCache
        >>> squares = LRUCache(2)
        >>> [squares.get(lambda: n, lambda: n**2) for n in (1, 2, 3)], len(squares)
        ([1, 4, 9], 2)
    """

    def __init__(self, size: int):
        self._made: OrderedDict[Any, Any] = OrderedDict()
        self._lock, self._size = threading.Lock(), size

    def __len__(self) -> int:
        return len(self._made)

    def get(self, key: Callable[[], Any], make: Callable[[], Any]) -> Any:
        """The value of a key, made if missing; the key is determined again after that, as it may have changed."""
        with self._lock:
            if (found := key()) not in self._made:
                made = make()
                self._made[found := key()] = made
                while len(self._made) > self._size:
                    self._made.popitem(last=False)
            self._made.move_to_end(found)
            return self._made[found]
