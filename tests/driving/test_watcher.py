"""One watcher for all folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing
from support import eventually

from supervisor.driving import watcher as module
from supervisor.driving.watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path


@pytest.fixture
async def watcher() -> AsyncIterator[Watcher]:
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            it = Watcher()
            await nursery.start(it.run)
            yield it
            nursery.cancel_scope.cancel()


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


async def woken(counter: Counter, change: Callable[[], object]) -> None:
    """Repeat the change until it is noticed: arming the watch takes a moment, and the rescan covers that in life."""
    before = counter.count
    with trio.fail_after(10):
        while counter.count == before:
            change()
            with trio.move_on_after(0.5):
                await eventually(lambda: counter.count > before)


async def test_each_folder_wakes_its_own(watcher: Watcher, tmp_path: Path) -> None:
    """E3: folders are made, can be added while it runs, and a change in one does not wake another."""
    one, two = Counter(), Counter()
    with watcher.watching(tmp_path / "one", one):
        await woken(one, lambda: (tmp_path / "one" / "x").write_text("x"))
        with watcher.watching(tmp_path / "two" / "deep", two):
            await woken(two, lambda: (tmp_path / "two" / "deep" / "x").write_text("x"))
            await trio.testing.wait_all_tasks_blocked(0.05)
            settled = two.count
            await woken(one, lambda: (tmp_path / "one" / "y").write_text("y"))
            assert two.count == settled


async def test_a_folder_inside_another_needs_no_new_watch(watcher: Watcher, tmp_path: Path) -> None:
    outer, inner = Counter(), Counter()
    with watcher.watching(tmp_path, outer):
        await woken(outer, lambda: (tmp_path / "x").write_text("x"))
        armed = watcher._armed
        with watcher.watching(tmp_path / "inner", inner):
            await woken(inner, lambda: (tmp_path / "inner" / "x").write_text("x"))
            assert watcher._armed is armed


async def test_everybody_looks_once_after_arming(watcher: Watcher, tmp_path: Path) -> None:
    """E3: what was written before the watch was armed is found by that look."""
    counter = Counter()
    with watcher.watching(tmp_path / "one", counter):
        await eventually(lambda: counter.count)


async def test_a_watch_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E3: out of inotify watches it says so, and whoever relies on the rescan goes on."""

    def refuse(*_: object, **__: object) -> object:
        raise OSError(28, "OS file watch limit reached")

    monkeypatch.setattr(module, "awatch", refuse)
    said: list[str] = []
    watcher, counter = Watcher(said.append), Counter()
    async with trio.open_nursery() as nursery:
        await nursery.start(watcher.run)
        with watcher.watching(tmp_path, counter):
            await eventually(lambda: said)
        nursery.cancel_scope.cancel()
    assert "looking every second" in said[0]
    assert watcher.trouble


async def test_it_ends_at_once_when_cancelled(tmp_path: Path) -> None:
    """Rule 4: cancelling does not wait for the default five seconds of the library."""
    counter = Counter()
    async with trio.open_nursery() as nursery:
        watcher = Watcher()
        await nursery.start(watcher.run)
        with watcher.watching(tmp_path, counter):
            await woken(counter, lambda: (tmp_path / "x").write_text("x"))
            begun = trio.current_time()
            nursery.cancel_scope.cancel()
    assert trio.current_time() - begun < 3
