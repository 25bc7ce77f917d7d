"""The check that no test leaves a process behind is itself checked."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

LEAKY = """
import subprocess, sys

def test_leaks():
    code = "import os, time; os.setsid(); os.fork() and os._exit(0); time.sleep(600)"
    subprocess.run([sys.executable, "-c", code])
"""


def test_a_daemonised_process_fails_the_test_that_left_it(tmp_path: Path) -> None:
    """Even one that forked away into its own session is found, ended and reported."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_leaky.py").write_text(LEAKY)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_leaky.py"]
    command += ["-o", f"pythonpath={ROOT / 'tests'}", "--rootdir", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "left running:" in done.stdout
    assert "time.sleep(600)" in done.stdout
