"""The files of the page, read once; nothing outside of its folder can be named."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json",
}  # fmt: skip


class File(NamedTuple):
    type: str
    body: bytes


class Page:
    """All files by their path; what is not in the list does not exist."""

    def __init__(self, root: Traversable | None = None) -> None:
        self._files: dict[str, File] = {}
        self._root = root or resources.files("office_view")
        self._read(self._root, "/")

    def _read(self, folder: Traversable, path: str) -> None:
        for entry in folder.iterdir():
            suffix = "." + entry.name.rpartition(".")[2]
            if self._leads_out(entry):
                continue
            if entry.is_dir():
                if entry.name not in ("tests", "__pycache__"):
                    self._read(entry, f"{path}{entry.name}/")
            elif suffix in TYPES:
                self._files[path + entry.name] = File(TYPES[suffix], entry.read_bytes())

    def _leads_out(self, entry: Traversable) -> bool:
        """A link to something that is not of the page."""
        if not isinstance(entry, Path) or not isinstance(self._root, Path):  # in an archive there are no links
            return False
        return not entry.resolve().is_relative_to(self._root.resolve())

    def find(self, path: str) -> File | None:
        path = path.partition("?")[0]
        return self._files.get({"/": "/index.html", "/favicon.ico": "/favicon.svg"}.get(path, path))
