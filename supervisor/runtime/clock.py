"""Time as the office goes by it."""

from __future__ import annotations

import time

LONGEST_NAP = 5.0
"""Who reads the clock later than that was not awake."""


class Clock:
    """Unix time that never jumps while it runs, and stands still while everything is suspended.

    It has to be read more often than every `LONGEST_NAP` seconds.
    """

    def __init__(self) -> None:
        self._read = time.monotonic()
        self._offset = time.time() - self._read

    def now(self) -> float:
        before, self._read = self._read, time.monotonic()
        if self._read - before > LONGEST_NAP:  # nobody was awake: what was waited for had no chance to come
            self._offset -= self._read - before
        return self._read + self._offset

    def not_before(self, at: float) -> None:
        """Go on from what was stored, also where the machine's clock was set back meanwhile."""
        self._offset += max(0.0, at - self.now())

    def at(self, wall: float) -> float:
        """When it is here what the machine's clock calls so."""
        return self.now() + wall - time.time()
