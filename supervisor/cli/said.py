"""`supervisor rooms`, `history` and `export`: what was said."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from supervisor.store import store

from . import exporting
from .options import folder, printable, state_dir

if TYPE_CHECKING:
    from supervisor.core.state import Room, State

ROOMS = """
    SELECT rooms.id, rooms.name, rooms.created_at, rooms.closed_at,
           (SELECT COUNT(*) FROM messages WHERE room_id = rooms.id AND type = 'agent') AS said,
           (SELECT body ->> '$.topic' FROM events WHERE room_id = rooms.id AND type = 'autoModeStarted'
            ORDER BY seq DESC LIMIT 1) AS topic,
           (SELECT body ->> '$.reason' FROM events WHERE room_id = rooms.id AND type = 'autoModeEnded'
            ORDER BY seq DESC LIMIT 1) AS ended
    FROM rooms ORDER BY rooms.created_at
"""


@click.command()
@state_dir
def rooms(state_dir: str | None) -> None:
    """List the conversations.

    \b
    Example:
      supervisor rooms
    """
    db = store.read_only(folder(state_dir).database)
    state = store.load(db.conn)
    table = Table("room", "began", "answers", "mode", "queue", "about", box=None)
    for row in db.query(ROOMS):
        began = datetime.fromtimestamp(row["created_at"]).strftime("%Y-%m-%d %H:%M")
        room = state.rooms.get(row["id"])
        ended = f"ended: {row['ended']}" if row["ended"] else "closed"
        mode = ended if room is None else mode_of(room)
        queue = queue_of(state, room) if room else ""
        about = Text(printable(row["topic"] or row["name"]))
        table.add_row(row["id"], began, str(row["said"]), mode, Text(printable(queue)), about)
    Console(highlight=False).print(table)


def mode_of(room: Room) -> str:
    if room.auto is None:
        return f"manual, {len(room.pending)} pending" if room.pending else "manual"
    return f"auto, paused ({room.auto.paused})" if room.auto.paused else f"auto, turn {room.auto.turns + 1}"


def queue_of(state: State, room: Room) -> str:
    """Who speaks in which order, beginning with who is next; those who are paused in brackets."""
    order = room.agents[room.current_index :] + room.agents[: room.current_index]
    people = [state.agents[agent_id] for agent_id in order]
    return ", ".join(one.name if one.participating else f"({one.name})" for one in people)


@click.command()
@click.argument("room", default="last")
@click.option("--limit", default=1000, type=click.IntRange(1), help="The last so many messages.")
@click.option(
    "--search", "words", metavar="WORDS", help="Find these words in all rooms, and in what was said in passing."
)
@state_dir
def history(room: str, limit: int, words: str | None, state_dir: str | None) -> None:
    """Show what was said in ROOM: its id, its name, or `last`; or find it by its words.

    \b
    Examples:
      supervisor history room_001 --limit 20
      supervisor history --search "true price"
    """
    db = store.read_only(folder(state_dir).database)
    if words is not None:
        show_found(store.search(db, words, limit=limit))
        return
    for row in store.history(db, exporting.find_room(db, room), limit=limit):
        at = datetime.fromtimestamp(row["at"]).strftime("%H:%M:%S")
        who = "" if row["type"] in ("system", "error") else f"{row['author_name']}: "
        click.echo(printable(f"{at}  {who}{row['content']}"))


def show_found(rows: list[dict[str, Any]]) -> None:
    for row in reversed(rows):
        at = datetime.fromtimestamp(row["at"]).strftime("%Y-%m-%d %H:%M")
        where = f"{row['room'] or row['room_id']}" if row["room_id"] else "in passing"
        click.echo(printable(f"{at}  {where}  {row['author_name']}: {row['content']}"))
    if not rows:
        click.echo("Nothing was found.")


@click.command()
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
@state_dir
def backup(target: Path, state_dir: str | None) -> None:
    """Write a whole copy of the database to TARGET, also while a server runs.

    \b
    Example:
      supervisor backup office-2026-11-18.db
    """
    store.back_up(folder(state_dir).database, target)
    click.echo(f"{target} is a whole copy: as office.db in a state folder it can be started as an office of its own.")


@click.command()
@click.argument("room", default="last")
@click.option("--format", "kind", default="md", show_default=True, type=click.Choice(exporting.FORMATS))
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="A file instead of the terminal.")
@state_dir
def export(room: str, kind: str, output: Path | None, state_dir: str | None) -> None:
    """Write the conversation in ROOM as a document.

    \b
    Examples:
      supervisor export last > argument.md
      supervisor export room_001 --format jsonl -o events.jsonl
    """
    db = store.read_only(folder(state_dir).database)
    text = exporting.export(db, exporting.find_room(db, room), kind)
    if output is None:
        click.echo(text, nl=False)
    else:
        exporting.write(output, text)
