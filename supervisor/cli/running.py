"""From trio's world of exception groups back to the one thing that went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from supervisor.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TELLING = (KeyboardInterrupt, SupervisorError, BrokenPipeError)


def run(function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
    """`trio.run` for a command: of several exceptions the one that a person should hear of is raised, alone."""
    try:
        return trio.run(function, *arguments)
    except BaseExceptionGroup as group:
        for kind in TELLING:
            if (found := first(group, kind)) is not None:
                raise found from None
        raise


def first(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    """The first exception of a kind in a tree of groups."""
    if not isinstance(error, BaseExceptionGroup):
        return error if isinstance(error, kind) else None
    return next((found for inner in error.exceptions if (found := first(inner, kind)) is not None), None)
