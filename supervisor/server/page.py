"""The files of the page, read once; nothing outside of its folder can be named."""

from __future__ import annotations

from importlib import resources
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
        self._read(root or resources.files("office_view"), "/")

    def _read(self, folder: Traversable, path: str) -> None:
        for entry in folder.iterdir():
            suffix = "." + entry.name.rpartition(".")[2]
            if entry.is_dir():
                if entry.name not in ("tests", "__pycache__"):
                    self._read(entry, f"{path}{entry.name}/")
            elif suffix in TYPES:
                self._files[path + entry.name] = File(TYPES[suffix], entry.read_bytes())

    def find(self, path: str) -> File | None:
        path = path.partition("?")[0]
        return self._files.get({"/": "/index.html", "/favicon.ico": "/favicon.svg"}.get(path, path))
