"""What tests of ensembles share: a count of compilations."""

import jax
import pytest

_compiled: list[str] = []


@jax.monitoring.register_event_duration_secs_listener
def _heard(event: str, _: float, **about) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _compiled.append(about.get("fun_name", ""))


@pytest.fixture
def compilations(monkeypatch):
    """Programs compiled since the test began, whatever is on disk."""
    monkeypatch.setenv("JAXGAIT_CACHE", "off")
    _compiled.clear()
    return _compiled
