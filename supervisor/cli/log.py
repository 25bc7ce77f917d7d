"""`supervisor.log`: what was blocked or went wrong."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import time
from typing import TYPE_CHECKING

from .options import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import TextIOWrapper
    from pathlib import Path

LOG_BYTES = 1 << 20
QUIET_SECONDS = 60.0
"""How long the same thing is not said again."""


class LogFile(logging.handlers.RotatingFileHandler):
    """Also the next file, after the first is full, is for us alone."""

    def _open(self) -> TextIOWrapper:
        fd = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.fchmod(fd, 0o600)
        return open(fd, "a", encoding=self.encoding)


class LogFormatter(logging.Formatter):
    """What is told of agents may hold anything: a message is one line, and nothing in it steers a terminal."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace("\n", " ")

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


class Crowd(logging.Handler):
    """Where no file is left for those who come in, trio says so ten times a second, each time with a traceback."""

    _said = -QUIET_SECONDS

    def emit(self, record: logging.LogRecord) -> None:
        if time.monotonic() - self._said >= QUIET_SECONDS:
            self._said = time.monotonic()
            told = "nobody can come in at the moment: %s (`supervisor doctor` says how many files may be open)"
            logging.getLogger("supervisor").warning(told, record.getMessage())


@contextlib.contextmanager
def logged(path: Path) -> Iterator[None]:
    """What was blocked or went wrong, in a small file that only we can read."""
    handler = LogFile(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("supervisor")
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    door, crowd = logging.getLogger("trio.serve_listeners"), Crowd()
    door.addHandler(crowd)
    propagated, door.propagate = door.propagate, False
    raised, logging.raiseExceptions = logging.raiseExceptions, False  # a log that cannot be written is not told of
    try:
        yield
    finally:
        logging.raiseExceptions = raised
        door.propagate = propagated
        door.removeHandler(crowd)
        log.removeHandler(handler)
        with contextlib.suppress(OSError):  # what is left of it, on a full disk
            handler.close()
