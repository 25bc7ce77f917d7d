"""One watcher for all transcripts. It only ever gives hints: whoever is woken looks for itself."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import trio
from watchfiles import awatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEP_MS, DEBOUNCE_MS, TIMEOUT_MS = 5, 10, 250


class Watcher:
    """Watches folders, all below them included, and calls back when something in one of them changes."""

    def __init__(self, on_trouble: Callable[[str], None] = lambda text: None) -> None:
        self._callbacks: dict[Path, list[Callable[[], None]]] = {}
        self._armed: set[Path] = set()
        self._changed = trio.Event()
        self._on_trouble = on_trouble
        self.trouble = ""
        """Why watching does not work, if it does not; transcripts are then found by the rescan alone."""

    @contextmanager
    def watching(self, folder: Path, wake: Callable[[], None]) -> Iterator[None]:
        """While this is open, `wake` is called after changes in the folder, which is made if it is missing."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = folder.resolve()
        self._callbacks.setdefault(folder, []).append(wake)
        if not any(folder.is_relative_to(root) for root in self._armed):
            self._changed.set()
        try:
            yield
        finally:
            self._callbacks[folder].remove(wake)
            if not self._callbacks[folder]:
                del self._callbacks[folder]
                if folder in self._armed:
                    self._changed.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Watch until cancelled; a new folder re-arms the watch, and everybody looks once after that."""
        task_status.started()
        while True:
            self._changed = trio.Event()
            self._armed = self._roots()
            self._wake_all()
            if not self._armed:
                await self._changed.wait()
                continue
            try:
                await self._watch()
            except (OSError, RuntimeError) as error:
                self._armed = set()
                self.trouble = f"files cannot be watched ({error}); looking every second instead"
                self._on_trouble(self.trouble)
                with trio.move_on_after(30):
                    await self._changed.wait()

    async def _watch(self) -> None:
        async for changes in awatch(
            *self._armed,
            watch_filter=None,
            step=STEP_MS,
            debounce=DEBOUNCE_MS,
            rust_timeout=TIMEOUT_MS,
            yield_on_timeout=True,
            stop_event=self._changed,
        ):
            if self.trouble:
                self.trouble = ""
            for folder in {folder for _, path in changes for folder in self._concerned(Path(path))}:
                for wake in list(self._callbacks.get(folder, [])):
                    wake()

    def _roots(self) -> set[Path]:
        """The folders to watch: those that exist and do not lie in another one."""
        folders = {folder for folder in self._callbacks if folder.is_dir()}
        return {f for f in folders if not any(f != other and f.is_relative_to(other) for other in folders)}

    def _concerned(self, path: Path) -> Iterator[Path]:
        return (folder for folder in (path, *path.parents) if folder in self._callbacks)

    def _wake_all(self) -> None:
        for wakes in list(self._callbacks.values()):
            for wake in list(wakes):
                wake()
