"""A transcript file followed by its byte offset, whatever happens to the file.

It may not exist yet, be truncated, replaced, rotated, or turn into something that is no file at all. Waking is only a
hint, by the watcher or by the process's own output; a rescan every second is what one can rely on.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import msgspec
import trio

from supervisor.records import AnyRecord, Note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .transcript import Transcript

CHUNK = 1 << 20
LONGEST_SHOWN = 16 << 20
"""How far a line is looked through for its name, which may stand behind all that was said."""
PRINT = 48
ANEW = b"written anew"
"""In a bookmark: the file is not what was read, whatever it holds now."""


class Bookmark(msgspec.Struct, frozen=True):
    """Where to read on after a restart, and how to tell that the file is still the same one."""

    offset: int = 0
    before: bytes = b""
    """The bytes just before the offset; if they are not there any more, the file was written anew."""


def open_plain(path: Path) -> int:
    """An agent may make anything of its transcript: no link is followed, no pipe waited for."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is no plain file")
    return fd


def lines_with(path: Path, mark: bytes) -> Iterator[bytes]:
    """All lines of a file that have this in them. Blocks: call it in a thread."""
    with os.fdopen(open_plain(path), "rb") as file:
        yield from (line for line in file if mark in line)


class Tail:
    """Follows one transcript; records go to `sink` in the order of the file."""

    def __init__(
        self,
        locate: Callable[[], Path | None],
        transcript: Transcript,
        sink: Callable[[AnyRecord], None],
        bookmark: Bookmark | None = None,
        rescan: float = 1.0,
        on_stranger: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_stranger` is called when the file is not the one of the bookmark: what is in it may be old news."""
        self._on_stranger = on_stranger
        self._locate = locate
        self._transcript = transcript
        self._sink = sink
        self._bookmark = bookmark
        self._rescan = rescan
        self._wake = trio.Event()
        self._fd: int | None = None
        self._path: Path | None = None
        self._position = 0
        self._before = b""
        self._complained = ""
        self._over = False
        self._last: Bookmark | None = None

    @property
    def path(self) -> Path | None:
        """The file that is or was being read, once it was found."""
        return self._path if self._fd is not None or self._last is not None else None

    def bookmark(self) -> Bookmark:
        offset = self._transcript.offset
        if self._fd is None:
            return self._last or self._bookmark or Bookmark()
        if not self._same(self._position, self._before):
            return Bookmark(before=ANEW)  # since we last looked: the next reader begins at its beginning
        start = max(0, offset - PRINT)
        return Bookmark(offset, os.pread(self._fd, offset - start, start))

    @property
    def open(self) -> bool:
        return self._fd is not None

    def line_at(self, offset: int, name: bytes, most: int) -> bytes | None:
        """The beginning of what stands there in the very file that is followed, whatever its name leads to by now;
        nothing if it is not the line that holds this name."""
        if self._fd is None:
            return None
        line = os.pread(self._fd, LONGEST_SHOWN, offset).partition(b"\n")[0]
        return line[:most] if line and name in line else None

    def nudge(self) -> None:
        """Something may have been written."""
        self._wake.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read until cancelled."""
        task_status.started()
        try:
            while True:
                with trio.move_on_after(self._rescan):
                    await self._wake.wait()
                self._wake = trio.Event()
                while self.read():
                    await trio.lowlevel.checkpoint()
        finally:
            self._over = True
            self.close()

    def close(self) -> None:
        if self._fd is not None:
            self._last = self.bookmark()
            os.close(self._fd)
            self._fd = None

    def read(self) -> bool:
        """Take in at most one chunk; true if there may be more. After `run` has ended, nothing is opened again."""
        if self._over:
            return False
        try:
            return self._look() or (self._fd is not None and self._read_chunk() == CHUNK)
        except OSError as error:
            self._complain(f"the transcript cannot be read: {error.strerror or error}")
            return False

    def _read_chunk(self) -> int:
        assert self._fd is not None
        data = os.pread(self._fd, CHUNK, self._position)
        self._position += len(data)
        self._before = (self._before + data)[-PRINT:]
        for record in self._transcript.feed(data):
            self._sink(record)
        return len(data)

    # -- the file under the name ----------------------------------------------------------------------------------

    def _look(self) -> bool:
        """Open the file when it appears, and begin anew when it is not the one we knew; true while there is more to
        read in the one that we knew."""
        if self._path is None:
            self._path = self._locate()
            if self._path is None:
                return False
        try:
            there = os.lstat(self._path)
        except FileNotFoundError:
            if self._fd is None:
                self._path = None
            return False
        if not stat.S_ISREG(there.st_mode):
            self._complain("the transcript is no longer a plain file, so it is not read")
            return False
        if self._fd is None:
            self._open()
            self._resume()
            return False
        here = os.fstat(self._fd)
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            if self._read_chunk():
                return True
            old = self._fd
            self._open()
            os.close(old)
            self._begin_anew("the transcript was replaced by another file")
        elif here.st_size < self._position or not self._same(self._position, self._before):
            self._begin_anew("the transcript was truncated and written anew")
        return False

    def _open(self) -> None:
        assert self._path is not None
        self._fd = open_plain(self._path)

    def _resume(self) -> None:
        mark, self._bookmark = self._bookmark, None
        if mark is None or mark == Bookmark():
            return
        if mark.offset and self._same(mark.offset, mark.before):
            self._position, self._before = mark.offset, mark.before
        else:
            self._on_stranger()
            self._begin_anew("the transcript changed while nobody was reading")

    def _same(self, offset: int, before: bytes) -> bool:
        assert self._fd is not None
        return os.pread(self._fd, len(before), offset - len(before)) == before

    def _begin_anew(self, why: str) -> None:
        self._position, self._before = 0, b""
        for record in self._transcript.rewind():
            self._sink(record)
        self._sink(Note(text=f"{why}; it is read again from its beginning"))

    def _complain(self, text: str) -> None:
        if text != self._complained:
            self._complained = text
            self._sink(Note(text=text))
