"""What every test gets: a home of its own, and a check that it leaves no process behind."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from support import become_subreaper, children, end_children

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=20, help="how often tests/faults/test_kill9.py kills the supervisor")


become_subreaper()
for number in (signal.SIGINT, signal.SIGHUP):  # whoever runs the tests may have them ignored, as with nohup or `&`
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
settings.register_profile("office", deadline=None)  # a busy machine is no reason to fail
settings.load_profile("office")


@pytest.fixture(autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's own configuration, and none can touch it."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    for name in [n for n in os.environ if n.startswith(("CLAUDE", "ANTHROPIC_", "FAKE_CLI_", "SUPERVISOR_"))]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("PIXEL_AGENTS_AUTO_MODE_DURATION_MS", raising=False)


@pytest.fixture(autouse=True)
def _no_process_left() -> Iterator[None]:
    """The test runner is a subreaper: whatever a test started and lost is its child now, and fails the test."""
    assert not children()
    yield
    left = children()
    end_children()
    assert not left, f"left running: {left}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for an agent."""
    path = tmp_path / "agent"
    path.mkdir()
    return path
