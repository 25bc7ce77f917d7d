"""The CLIs that can be driven, by name: adding one is one file here and one line below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.errors import ConfigError

from .claude import Claude
from .fake import Fake

if TYPE_CHECKING:
    from .base import Backend

BACKENDS: dict[str, Backend] = {backend.name: backend for backend in (Claude(), Fake())}


def backend(name: str) -> Backend:
    try:
        return BACKENDS[name]
    except KeyError:
        raise ConfigError(f"There is no backend {name!r}; choose one of {', '.join(BACKENDS)}.") from None
