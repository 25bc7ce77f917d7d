"""`supervisor start`: the server and the office page."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import secrets
import sys
import webbrowser
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import msgspec
import trio

from supervisor.config import RoomEntry
from supervisor.core import inputs
from supervisor.driving.backends import backend as known_backend
from supervisor.errors import ConfigError
from supervisor.runtime import AgentRuntime
from supervisor.runtime.runtime import missing_program
from supervisor.server.server import Server
from supervisor.store.folder import ServerNote

from . import options
from .options import conversation, folder, milliseconds, office, printable, state_dir
from .running import Signals, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from supervisor.config import AgentEntry, Office, TemplatePerson
    from supervisor.store.folder import StateFolder

PORT = 8787
LOG_BYTES = 1 << 20
SPEED, THINK = 70.0, 0.8
"""How fast the fake CLI talks where people watch, and how long it thinks."""


@click.command()
@click.option("--backend", default=None, metavar="NAME", help="The CLI of agents that name none.  [default: fake]")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--auto", is_flag=True, help="Begin a conversation at once.")
@click.option("--topic", default=None, help="What to talk about; drawn if left out.")
@click.option("--open/--no-open", "opens", default=None, help="Open the page.  [default: where there is a browser]")
@click.option("--life/--no-life", default=None, help="Whether agents decide by themselves what to do when nobody asks.")
@click.option(
    "--resume/--fresh", "resumes", default=True, help="Go on where it was, or close the rooms and start anew."
)
@conversation
@state_dir
def start(
    backend: str | None,
    port: int,
    auto: bool,
    topic: str | None,
    opens: bool | None,
    life: bool | None,
    resumes: bool,
    config_file: Path | None,
    keyword: str | None,
    duration: float | None,
    pattern: str | None,
    seed: str | None,
    state_dir: str | None,
) -> None:
    """Run the office: agents, conversations, and a page to watch them on.

    \b
    Examples:
      supervisor start --auto
      supervisor start --auto --topic "Tabs or spaces?" --duration 120
      supervisor start --backend claude --config office.toml --port 9000
    """
    flags = {"keyword": keyword, "interaction_pattern": pattern, "max_duration_ms": milliseconds(duration)}
    found = options.with_settings(office(config_file), **flags)
    if backend is not None:
        found = with_backend(found, backend)
    if life is not None:
        found = msgspec.structs.replace(found, life=msgspec.structs.replace(found.life, on=life))
    seed = secrets.token_hex(4) if seed is None else seed
    serving = Serving(folder(state_dir), found, port, seed, {k: v for k, v in flags.items() if v is not None})
    status = run(serving.run, auto, topic, opens, not resumes)
    if status:
        sys.exit(status)


def people_of(found: Office, room: RoomEntry) -> Sequence[AgentEntry | TemplatePerson]:
    """Those that the room names, or those of its template."""
    named = [agent for name in room.agents if (agent := found.agent(name))]
    template = found.templates.get(room.template)
    return named or (template.people if template else ())


def with_backend(found: Office, name: str) -> Office:
    entry = found.backend(name)
    if name not in found.backends:
        known_backend(name)
    program = entry.command or tuple(known_backend(entry.kind or name).program)
    if problem := missing_program(program[0]):
        raise ConfigError(problem)
    return msgspec.structs.replace(found, default_backend=name)


class Serving:
    """One run of the server."""

    def __init__(self, place: StateFolder, found: Office, port: int, seed: str, flags: dict[str, Any]) -> None:
        """`flags` are the settings that were given on the command line; they go before those of any room."""
        self.place, self.office, self.port, self.seed, self.flags = place, found, port, seed, flags
        self.runtime = AgentRuntime(place, found, arguments=options.fake_arguments(seed, SPEED, THINK))

    async def run(self, auto: bool, topic: str | None, opens: bool | None, fresh: bool) -> int:
        with self.place.locked(), logged(self.place.path / "supervisor.log"):
            tokens = self.place.tokens(os.environ.get("SUPERVISOR_TOKEN", ""))
            server = Server(self.runtime, tokens)
            listeners = await server.listen(self.port)
            signals = Signals()
            async with trio.open_nursery() as nursery:
                await nursery.start(signals.watch, nursery.cancel_scope)
                await nursery.start(partial(self.runtime.run, fresh=fresh))
                async with server.running(listeners):
                    ws_url = server.url.replace("http://", "ws://") + "ws"
                    note = ServerNote(
                        pid=os.getpid(), url=server.url, ws_url=ws_url, token=tokens.operator, view_token=tokens.viewer
                    )
                    with self.place.announced(note):
                        address = f"{server.url}#token={tokens.operator}"
                        click.echo(f"The office is open at {address}")
                        click.echo(f"(to watch only: {server.url}#token={tokens.viewer} — Ctrl-C stops)")
                        await self._populate(auto, topic)
                        if opens or (opens is None and has_browser()):
                            await trio.to_thread.run_sync(self._open, address)
                        await signals.asked.wait()
                        click.echo("Stopping; everything is saved. Ctrl-C again stops at once.")
                        await self.runtime.stop()
                (self.place.path / "open.html").unlink(missing_ok=True)
                nursery.cancel_scope.cancel()
            return signals.status

    async def _populate(self, auto: bool, topic: str | None) -> None:
        """The rooms of the configuration, or one to begin with; then the conversation that was asked for."""
        await self.runtime.look(lambda: None)  # what was running has been revived
        if not any(not room.guests for room in self.runtime.core.state.rooms.values()):
            everybody = RoomEntry(name="Office", agents=tuple(agent.name for agent in self.office.agents))
            for room in self.office.rooms or (everybody,):
                settings = msgspec.structs.replace(options.room_settings(self.office, room), **self.flags)
                await self.runtime.begin(inputs.StartRoom(
                    name=room.name, settings=settings, topic=room.topic, auto=room.auto, seed=self.seed,
                    agents=tuple(
                        inputs.AgentConfig(name=one.name, role=one.role, cli_backend=one.backend)
                        for one in people_of(self.office, room)
                    ),
                ))  # fmt: skip
        if auto:
            await self._converse(topic)

    async def _converse(self, topic: str | None) -> None:
        rooms = {room.id: room for room in self.runtime.core.state.rooms.values() if not room.guests}
        running = next((room for room in rooms.values() if room.auto), None)
        if running is not None and running.auto is not None:
            about = printable(running.auto.topic)
            if topic is None:
                click.echo(f"The conversation about “{about}” goes on; --fresh begins anew.")
                return
            click.echo(f"The conversation about “{about}” was stopped for this one.")
            self.runtime.tell(inputs.StopAutoMode(roomId=running.id))
        room = running or next(iter(rooms.values()))
        entry = next((one for one in self.office.rooms if one.name == room.name), None)
        flags = self.flags
        await self.runtime.begin(inputs.StartAutoMode(
            roomId=room.id, topic=topic or (entry.topic if entry else "") or None, seed=self.seed,
            keyword=flags.get("keyword"), maxDurationMs=flags.get("max_duration_ms"),
            interactionPattern=flags.get("interaction_pattern"),
        ))  # fmt: skip

    def _open(self, address: str) -> None:
        """By way of a file that only we can read: the token is on no command line."""
        page = self.place.path / "open.html"
        page.touch(mode=0o600)
        page.chmod(0o600)
        page.write_text(f'<!doctype html><meta charset="utf-8"><script>location.replace("{address}")</script>')
        webbrowser.open(page.as_uri())


@contextlib.contextmanager
def logged(path: Path) -> Iterator[None]:
    """What was blocked or went wrong, in a small file that only we can read."""
    path.touch(mode=0o600)
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("supervisor")
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()


def has_browser() -> bool:
    if not sys.stdout.isatty() or not (sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ)):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
