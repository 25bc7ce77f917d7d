"""`supervisor agents`, `status`, `stop` and `rotate-tokens`: the running server, from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from supervisor.client import connect
from supervisor.core import view
from supervisor.core.core import Core, Rules
from supervisor.driving import tree
from supervisor.errors import ServerError
from supervisor.runtime import leftovers
from supervisor.store import store
from supervisor.store.store import Process

from .options import folder, printable, state_dir
from .running import run
from .start import page_for

if TYPE_CHECKING:
    from supervisor.store.folder import ServerNote

STOP_SECONDS = 60.0
ROTATE_SECONDS = 10.0


async def snapshot(note: ServerNote) -> dict[str, Any]:
    async with connect(note.ws_url, note.token, patient=False) as client:
        return client.welcome


def alive(pid: int, born: float) -> bool:
    return leftovers.alive(Process(agent_id="", pid=pid, born=born))


@click.command()
@state_dir
def agents(state_dir: str | None) -> None:
    """List who is there: from the running server, else as it was left.

    \b
    Example:
      supervisor agents
    """
    place = folder(state_dir)
    note = place.running()
    if note is not None:
        people = run(snapshot, note)["snapshot"]["agents"]
    else:
        state = store.load(store.read_only(place.database).conn)
        core = Core(Rules(office_id="", backends={}, default_backend=""), state)
        people = [view.agent(core, agent, time.time()) for agent in state.agents.values()]
    table = Table("agent", "name", "role", "backend", "state", "room", "tokens", "task", box=None)
    for one in people:
        tokens = f"{one['input_tokens'] + one['output_tokens']:,}"
        state_now = one["state"] if note is not None else "away"
        cells = [one["agent_id"], one["name"], one["role"], one["cli_backend"], state_now, one["room_id"] or "",
                 tokens, one["current_task"] or ""]  # fmt: skip
        table.add_row(*(Text(printable(cell)) for cell in cells))
    Console(highlight=False).print(table if people else "Nobody is here.")


@click.command()
@state_dir
def status(state_dir: str | None) -> None:
    """Say whether a server runs, and what goes on in it.

    \b
    Example:
      supervisor status
    """
    note = folder(state_dir).running()
    if note is None:
        raise click.ClickException("No server is running on this state folder: start one with `supervisor start`.")
    seen = run(snapshot, note)
    click.echo(f"A server runs at {note.url} (process {note.pid}), event {seen['seq']}.")
    for room in seen["snapshot"]["rooms"]:
        auto = room["auto"]
        what = "manual mode" if auto is None else f"auto mode, turn {auto['turns'] + 1}"
        if auto and auto["paused"]:
            what = f"auto mode paused ({auto['paused']})"
        about = f": {auto['topic']}" if auto else ""
        click.echo(printable(f"{room['room_id']} {room['name']} — {len(room['agents'])} agents, {what}{about}"))


@click.command()
@state_dir
def stop(state_dir: str | None) -> None:
    """Stop the running server cleanly; what it was doing goes on at the next start.

    \b
    Example:
      supervisor stop
    """
    place = folder(state_dir)
    note = place.running()
    if note is None:
        raise click.ClickException("No server is running on this state folder.")
    born = tree.born(note.pid)
    try:
        os.kill(note.pid, signal.SIGTERM)
    except ProcessLookupError:
        raise click.ClickException(f"Process {note.pid} is gone, but something holds {place.path}.") from None
    except PermissionError:
        raise click.ClickException(f"Process {note.pid} belongs to somebody else: stop it as that user.") from None
    deadline = time.monotonic() + STOP_SECONDS
    while (runs := alive(note.pid, born)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if runs:
        raise ServerError(f"Process {note.pid} has not stopped within {STOP_SECONDS:g} s.")
    click.echo("Stopped.")


@click.command("rotate-tokens")
@state_dir
def rotate_tokens(state_dir: str | None) -> None:
    """Make new tokens; whoever came in with the old ones is sent out at once.

    \b
    Example:
      supervisor rotate-tokens
    """
    place = folder(state_dir)
    if not place.path.is_dir():
        raise click.ClickException(f"There is no state folder {place.path}: `supervisor start` makes one.")
    before = place.running()
    if before is None and place.held() is not None:
        raise click.ClickException("A conversation of `supervisor talk` uses this folder: try again when it is over.")
    place.rotate()
    if before is None:
        click.echo("The next `supervisor start` uses new tokens.")
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(before.pid, signal.SIGUSR1)
    deadline = time.monotonic() + ROTATE_SECONDS
    while (now := place.running()) is not None and now.view_token == before.view_token:
        if time.monotonic() > deadline:
            raise ServerError(f"Process {before.pid} did not take the new tokens: stop it with `supervisor stop`.")
        time.sleep(0.02)
    if now is None:
        raise ServerError("The server has just stopped; its next start uses the new tokens.")
    if now.token == before.token:
        click.echo("The operator's token is set by SUPERVISOR_TOKEN and stays: only the viewer's is new.", err=True)
    click.echo(f"The office is open at {page_for(now.url, now.token)}")
    click.echo(f"(to watch only: {page_for(now.url, now.view_token)})")
