"""How many files may be open: as many as the machine allows for us, and as many as were usual for a CLI.

A few for each agent and each viewer come to more than the 1,024 that are usual; a program that is given many more may
take its time over all of them when it starts another.
"""

from __future__ import annotations

import resource
from contextlib import suppress

GIVEN = resource.getrlimit(resource.RLIMIT_NOFILE)
"""What we were started with: the limit that holds, and the one up to which it may be raised."""


def raise_limit() -> None:
    """For this process."""
    with suppress(OSError, ValueError):  # what cannot be raised stays as it is
        resource.setrlimit(resource.RLIMIT_NOFILE, (GIVEN[1], GIVEN[1]))


def as_given(pid: int) -> None:
    """For a process that we started, and what it will start."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] > GIVEN[0]:
        with suppress(OSError):  # it is gone already
            resource.prlimit(pid, resource.RLIMIT_NOFILE, GIVEN)
