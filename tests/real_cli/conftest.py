"""Each real program with a HOME of its own and a model on loopback; nothing of the user's is seen or touched."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from real_cli.clis import CACHE, CLIS, Cli
from real_cli.stub import Say, Stub

if TYPE_CHECKING:
    from collections.abc import Iterator

VENDORS = (
    "ANTHROPIC_",
    "AWS_",
    "AZURE_",
    "CLAUDE",
    "CODEX_",
    "GEMINI_",
    "GOOGLE_",
    "OPENAI_",
    "OPENCODE_",
    "OPENROUTER_",
)


def ready(name: str) -> Cli:
    """Installed on first use; said aloud where that cannot be."""
    cli = CLIS[name]
    if why := cli.install():
        pytest.skip(f"THE REAL {name.upper()} WAS NOT TESTED: {why}")
    return cli


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in CLIS])
def cli(request: pytest.FixtureRequest) -> Cli:
    return ready(request.param)


def base() -> Path:
    """Where nobody else can write, also above, as some CLIs insist; and, if it can be, not below the user's own HOME,
    where others look for files of the user's in every folder above."""
    places = [Path("/run/user") / str(os.getuid()), *([Path("/run")] if os.getuid() == 0 else [])]
    return next((place for place in places if place.is_dir() and os.access(place, os.W_OK)), CACHE)


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for all that it writes, with a HOME in it, and nothing in the environment that leads elsewhere."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="office-supervisor-", dir=base()))
    home = path / "home"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith(VENDORS) or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub(lambda asked: Say("Nothing was scripted.")) as stub:
        yield stub
