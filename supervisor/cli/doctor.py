"""`supervisor doctor`: what is installed, missing or too old, each with its fix."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click
from pysqlite3 import dbapi2 as sqlite3

from supervisor.driving.backends import BACKENDS
from supervisor.errors import SupervisorError
from supervisor.store import store
from supervisor.store.store import OLDEST_SQLITE

from .options import folder, office, printable, state_dir
from .start import PORT


class Finding(NamedTuple):
    good: bool
    text: str
    needed: bool = True


@click.command()
@click.option(
    "--config", "config_file", type=click.Path(path_type=Path), metavar="FILE", help="Check this office.toml."
)
@state_dir
def doctor(config_file: Path | None, state_dir: str | None) -> None:
    """Check this machine, and say how to mend what is wrong.

    \b
    Example:
      supervisor doctor --config office.toml
    """
    findings = [*machine(), state(state_dir), *configuration(config_file)]
    for finding in findings:
        mark = "ok " if finding.good else "BAD" if finding.needed else "-  "
        click.echo(f"{mark} {printable(finding.text)}")
    if any(finding.needed and not finding.good for finding in findings):
        sys.exit(1)


def machine() -> list[Finding]:
    new_sqlite = sqlite3.sqlite_version_info >= OLDEST_SQLITE
    findings = [
        Finding(sys.version_info >= (3, 11), f"Python {platform.python_version()} (3.11 or newer is needed)"),
        Finding(new_sqlite, f"SQLite {sqlite3.sqlite_version} (newer than 3.51.2 is needed: reinstall pysqlite3)"),
        Finding(sys.platform == "linux", f"{platform.system()} (Linux is needed to find every process of an agent)"),
        port(),
    ]
    try:
        other = importlib.metadata.version("supervisor")
        clash = f"the distribution `supervisor` {other} has the same import name: use an environment of its own"
        findings.append(Finding(False, clash))
    except importlib.metadata.PackageNotFoundError:
        findings.append(Finding(True, "no other distribution is called supervisor"))
    return findings


def port() -> Finding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return Finding(False, f"port {PORT} is in use (by a running office?): choose another with --port", False)
    return Finding(True, f"port {PORT} is free")


def state(given: str | None) -> Finding:
    place = folder(given)
    try:
        place.make()
        store.refuse_strangers(place.database)
    except SupervisorError as error:
        return Finding(False, str(error))
    return Finding(True, f"state folder {place.path}")


def configuration(path: Path | None) -> list[Finding]:
    try:
        found = office(path)
    except SupervisorError as error:
        return [Finding(False, str(error))]
    findings = [Finding(True, f"{path}: {len(found.agents)} agents, {len(found.rooms)} rooms")] if path else []
    for name in {**dict.fromkeys(BACKENDS), **dict.fromkeys(found.backends)}:
        entry = found.backend(name)
        command = entry.command or BACKENDS[entry.kind or name].program
        findings.append(cli(name, tuple(command), needed=name in (found.default_backend, *found.backends)))
    return findings


def cli(name: str, command: tuple[str, ...], *, needed: bool) -> Finding:
    """Whether a CLI is there and can be started."""
    if shutil.which(command[0]) is None:
        return Finding(
            False, f"backend {name}: {command[0]} was not found: install it or name it in office.toml", needed
        )
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(False, f"backend {name}: {command[0]} cannot be started ({type(error).__name__})", needed)
    version = done.stdout.strip().split("\n")[0][:60]
    if done.returncode != 0 or not version:
        why = f"backend {name}: `{command[0]} --version` failed with status {done.returncode}"
        return Finding(False, why, needed)
    return Finding(True, f"backend {name}: {version}", needed)
