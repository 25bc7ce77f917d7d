"""`supervisor task`: what agents have to do."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from supervisor.client import connect
from supervisor.errors import ConfigError, Refused, ServerError
from supervisor.store import store

from .options import folder, printable, state_dir
from .running import run

if TYPE_CHECKING:
    from supervisor.store.folder import ServerNote


@click.group()
def task() -> None:
    """Give agents tasks, and see what became of them.

    \b
    Examples:
      supervisor task add Ada "write the release notes"
      supervisor task list
    """


def running(state_dir: str | None) -> ServerNote:
    note = folder(state_dir).running()
    if note is None:
        raise ServerError("No server is running on this state folder: start one with `supervisor start`.")
    return note


async def tell(note: ServerNote, message: dict[str, Any], agent: str = "") -> None:
    """Send one command; an agent may be given by its name."""
    async with connect(note.ws_url, note.token, patient=False) as office:
        if agent:
            people = office.welcome["snapshot"]["agents"]
            fits = [one for one in people if agent.lower() in (one["agent_id"], one["name"].lower())]
            if len(fits) != 1:
                what = "There are several agents called" if fits else "There is no agent"
                raise ConfigError(f"{what} {agent!r}: `supervisor agents` lists them.")
            message = {**message, "agent_id": fits[0]["agent_id"]}
        try:
            await office.request(message)
        except Refused as refused:
            raise ServerError(str(refused)) from None


@task.command()
@click.argument("agent")
@click.argument("name")
@state_dir
def add(agent: str, name: str, state_dir: str | None) -> None:
    """Give AGENT, by its name or id, the task NAME.

    \b
    Example:
      supervisor task add Ada "write the release notes"
    """
    run(tell, running(state_dir), {"type": "assign_task", "task_name": name}, agent)
    click.echo(printable(f"{agent} has it."))


@task.command()
@click.argument("number", type=click.IntRange(1))
@state_dir
def done(number: int, state_dir: str | None) -> None:
    """Say that the task NUMBER is done.

    \b
    Example:
      supervisor task done 3
    """
    run(tell, running(state_dir), {"type": "complete_task", "task_id": number})
    click.echo(f"Task {number} is done.")


TASKS = """
    SELECT agent_tasks.*, (SELECT body ->> '$.name' FROM events WHERE type = 'agent_spawned'
                           AND agent_id = agent_tasks.agent_id LIMIT 1) AS name
    FROM agent_tasks ORDER BY id
"""


@task.command("list")
@state_dir
def list_(state_dir: str | None) -> None:
    """List the tasks, also those that are done.

    \b
    Example:
      supervisor task list
    """
    db = store.read_only(folder(state_dir).database)
    table = Table("task", "agent", "status", "given", "done", "what", box=None)
    rows = list(db.query(TASKS))
    for row in rows:
        given, over = (datetime.fromtimestamp(at).strftime("%m-%d %H:%M") if at else "" for at in
                       (row["created_at"], row["completed_at"]))  # fmt: skip
        who, what = Text(printable(row["name"] or row["agent_id"])), Text(printable(row["task_name"]))
        table.add_row(str(row["id"]), who, row["status"], given, over, what)
    Console(highlight=False).print(table if rows else "There are no tasks.")
