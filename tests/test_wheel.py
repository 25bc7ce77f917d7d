"""What is installed from a wheel is whole: the page, the fake CLI and the topics."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from support import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.xdist_group("wheel")
def test_the_wheel_talks_in_an_empty_environment(tmp_path: Path) -> None:
    """Built from the sources, installed elsewhere, run from there with nothing else on the path."""
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for path in (ROOT / "office_view").rglob("*.*"):
        assert path.relative_to(ROOT).as_posix() in names
    for path in (ROOT / "agents" / "fake_cli" / "dossiers").iterdir():
        assert path.relative_to(ROOT / "agents").as_posix() in names
    assert not any(name.startswith(("tests/", "docs/")) for name in names)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=120)
    programs = tmp_path / "venv" / "bin"
    subprocess.run([programs / "pip", "install", "-q", str(wheel)], check=True, capture_output=True, timeout=300)
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
    }
    command = [str(programs / "supervisor"), "talk", "--seed", "7", "--export", "talk.md"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("They agree.\n")
    assert (tmp_path / "talk.md").read_text().startswith("# ")
    code = "from supervisor.server.page import Page; print(len(Page().find('/').body))"
    found = subprocess.run(
        [programs / "python", "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert int(found.stdout) == (ROOT / "office_view" / "index.html").stat().st_size
