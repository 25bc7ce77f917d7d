"""`supervisor.log`: what was blocked or went wrong."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
from typing import TYPE_CHECKING

from .options import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import TextIOWrapper
    from pathlib import Path

LOG_BYTES = 1 << 20


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


@contextlib.contextmanager
def logged(path: Path) -> Iterator[None]:
    """What was blocked or went wrong, in a small file that only we can read."""
    handler = LogFile(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("supervisor")
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()
