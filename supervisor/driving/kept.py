"""What we keep for a CLI in the agent's own folder: its transcript, its own name for a session, files that it reads."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from .backends.base import is_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Kept:
    """A transcript that we write, for a CLI that writes none that can be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._broken = False
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write(self, line: bytes) -> None:
        """A line; the file is made with the first one, so that a session without a prompt has no transcript.

        Where one cannot be written, none is until the next prompt: a hole would pass for the truth. What is printed
        counts then, as with every other CLI.
        """
        if self._broken:
            return
        try:
            if self._fd is None:
                self._fd = os.open(self._path, FLAGS | os.O_APPEND, 0o600)
            self._broken = os.write(self._fd, line) < len(line)
        except OSError:
            self._broken = True

    def begin(self, line: bytes) -> None:
        """The line of a prompt, on a line of its own whatever came before."""
        broken, self._broken = self._broken, False
        self.write(b"\n" + line if broken else line)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class OwnName:
    """What a CLI calls a session, kept under our name for it."""

    def __init__(self, folder: Path, session_id: str) -> None:
        self._path = folder / "sessions" / session_id

    def read(self) -> str:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            name = self._path.read_text(encoding="utf-8").strip()
            return name if is_name(name) else ""
        return ""

    def write(self, name: str) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self._path, name)


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        write_whole(folder / name, text)


def write_whole(path: Path, text: str) -> None:
    """All of it is on the disk, or nothing."""
    draft = path.with_name(f"{path.name}.new")
    fd = os.open(draft, FLAGS | os.O_TRUNC, 0o600)
    try:
        left = memoryview(text.encode("utf-8", "surrogatepass"))
        while left:
            left = left[os.write(fd, left) :]
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(draft, path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
