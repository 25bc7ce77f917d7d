"""The CLIs that can be driven, by name: adding one is one file here and one line below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.config import Kind
from supervisor.errors import ConfigError

from .acp import Acp
from .claude import Claude
from .codex import Codex
from .fake import Fake
from .gemini import Gemini
from .opencode import OpenCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .base import Backend

KINDS: tuple[Backend, ...] = (Claude(), Codex(), Gemini(), OpenCode(), Acp(), Fake())
BACKENDS: dict[str, Backend] = {backend.name: backend for backend in KINDS}


def facts() -> tuple[Kind, ...]:
    """What the configuration is checked by."""
    return tuple(Kind(one.name, one.program, one.parameters) for one in KINDS)


def names(configured: Iterable[str]) -> list[str]:
    """What agents can be given: those that need no configuration, and those that have one."""
    return [*dict.fromkeys([*(one.name for one in KINDS if one.program), *configured])]


def backend(name: str) -> Backend:
    try:
        return BACKENDS[name]
    except KeyError:
        raise ConfigError(f"There is no backend {name!r}; choose one of {', '.join(BACKENDS)}.") from None
