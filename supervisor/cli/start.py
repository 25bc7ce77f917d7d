"""`supervisor start`: the server and the office page."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import signal
import sys
import webbrowser
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import click
import msgspec
import trio

from supervisor.config import RoomEntry
from supervisor.core import inputs
from supervisor.driving import open_files
from supervisor.driving.backends import backend as known_backend
from supervisor.errors import ConfigError
from supervisor.runtime import AgentRuntime
from supervisor.runtime.configured import missing_program
from supervisor.server.gate import LOOPBACK, is_address, is_origin
from supervisor.server.server import Server
from supervisor.store.folder import LENGTH, ServerNote
from supervisor.threads import in_thread

from . import options
from .log import logged
from .options import conversation, folder, milliseconds, office, printable, state_dir
from .running import UNSAVED, Signals, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from supervisor.config import AgentEntry, Office, TemplatePerson
    from supervisor.store.folder import StateFolder, Tokens

PORT = 8787
SHORTEST_TOKEN = 32
"""How many characters a token that somebody chose has to have."""
SPEED, THINK = 70.0, 0.8
"""How fast the fake CLI talks where people watch, and how long it thinks."""


@click.command()
@click.option("--backend", default=None, metavar="NAME", help="The CLI of agents that name none.  [default: fake]")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--host", default=LOOPBACK, metavar="ADDRESS", show_default=True,
              help="Listen on another address than this machine's own; see docs/security.md first.")  # fmt: skip
@click.option("--allow-origin", "origins", multiple=True, metavar="ORIGIN",
              help="The address that a forwarded port has in a browser, such as http://localhost:9000.")  # fmt: skip
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
    host: str,
    origins: tuple[str, ...],
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
      supervisor start --allow-origin http://localhost:9000
    """
    flags = {"keyword": keyword, "interaction_pattern": pattern, "max_duration_ms": milliseconds(duration)}
    found = options.with_settings(office(config_file), **flags)
    if backend is not None:
        found = with_backend(found, backend)
    if life is not None:
        found = msgspec.structs.replace(found, life=msgspec.structs.replace(found.life, on=life))
    seed = secrets.token_hex(4) if seed is None else seed
    door = Door(host, port, origins, os.environ.get("SUPERVISOR_TOKEN", ""))
    serving = Serving(folder(state_dir), found, door, seed, {k: v for k, v in flags.items() if v is not None})
    open_files.raise_limit()
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
    kind = known_backend(entry.kind or name)
    command = entry.command or kind.program
    if not command:
        raise ConfigError(f"The backend {name!r} needs a command: give it in office.toml, in [backends.NAME].")
    if problem := missing_program(command[0], kind):
        raise ConfigError(problem)
    return msgspec.structs.replace(found, default_backend=name)


class Door(NamedTuple):
    """Where the server listens, and who may come in."""

    host: str
    port: int
    origins: tuple[str, ...]
    token: str
    """The operator's, where the environment sets it."""

    def check(self) -> None:
        """Raises ConfigError for what is not to be had; warns of what is not wise."""
        if not is_address(self.host):
            raise ConfigError(f"--host {self.host!r}: expected an address, such as 192.168.1.5, or 0.0.0.0 for all.")
        for origin in self.origins:
            if not is_origin(origin):
                raise ConfigError(
                    f"--allow-origin {origin!r}: expected what a browser shows before the path, such as "
                    "http://localhost:9000."
                )
        if self.token and len(self.token) < SHORTEST_TOKEN:
            raise ConfigError(
                f"SUPERVISOR_TOKEN has {len(self.token)} characters and may be guessed: give {LENGTH} random ones."
            )
        if not ipaddress.ip_address(self.host).is_loopback:
            warn(
                f"others can reach {self.host}, and nothing is encrypted: whoever listens in on the network can take "
                "the token and drive the agents. Safer: leave --host out and forward the port, as with "
                "`ssh -L 8787:127.0.0.1:8787`."
            )


def warn(text: str) -> None:
    click.echo(f"supervisor: warning: {text}", err=True)


def tell_what_is_saved(saved: bool) -> None:
    """At the end of a stop, to a terminal that may be gone."""
    with contextlib.suppress(OSError):
        if saved:
            click.echo("Stopped; everything is saved.")
        else:
            click.echo(UNSAVED, err=True)


class Serving:
    """One run of the server."""

    def __init__(self, place: StateFolder, found: Office, door: Door, seed: str, flags: dict[str, Any]) -> None:
        """`flags` are the settings that were given on the command line; they go before those of any room."""
        self.place, self.office, self.door, self.seed, self.flags = place, found, door, seed, flags
        self.runtime = AgentRuntime(place, found, arguments=options.fake_arguments(seed, SPEED, THINK))

    async def run(self, auto: bool, topic: str | None, opens: bool | None, fresh: bool) -> int:
        self.door.check()
        with self.place.locked(), logged(self.place.path / "supervisor.log"):
            tokens = self.place.tokens(self.door.token)
            server = Server(self.runtime, tokens, host=self.door.host, origins=self.door.origins)
            listeners = await server.listen(self.door.port)
            signals = Signals()
            saved: bool | None = None
            async with trio.open_nursery() as nursery:
                await nursery.start(signals.watch, nursery.cancel_scope)
                await nursery.start(partial(self.runtime.run, fresh=fresh))
                async with server.running(listeners):
                    await nursery.start(self._rotate, server)
                    with self.place.announced(note(server, tokens)):
                        address = page_for(server.url, tokens.operator)
                        click.echo(f"The office is open at {address}")
                        click.echo(f"(to watch only: {page_for(server.url, tokens.viewer)} — Ctrl-C stops)")
                        await self._populate(auto, topic)
                        if opens or (opens is None and has_browser()):
                            await in_thread(self._open, address)
                        await signals.asked.wait()
                        with contextlib.suppress(OSError):  # the terminal was closed: nobody reads it any more
                            click.echo("Stopping; Ctrl-C again stops at once.")
                        saved = await self.runtime.stop()
                (self.place.path / "open.html").unlink(missing_ok=True)
                nursery.cancel_scope.cancel()
            if saved is not None:  # else Ctrl-C came twice
                tell_what_is_saved(saved)
            return 1 if saved is False else signals.status

    async def _rotate(
        self, server: Server, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:  # fmt: skip
        """USR1 says that there are new tokens."""
        with trio.open_signal_receiver(signal.SIGUSR1) as asked:
            task_status.started()
            async for _ in asked:
                tokens = self.place.tokens(self.door.token)
                server.rotate(tokens)
                self.place.announce(note(server, tokens))

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
        text = f'<!doctype html><meta charset="utf-8"><script>location.replace("{address}")</script>'
        self.place.write(page, text.encode())
        webbrowser.open(page.as_uri())


def note(server: Server, tokens: Tokens) -> ServerNote:
    ws_url = server.url.replace("http://", "ws://") + "ws"
    return ServerNote(
        pid=os.getpid(), url=server.url, ws_url=ws_url, token=tokens.operator, view_token=tokens.viewer
    )  # fmt: skip


def page_for(url: str, token: str) -> str:
    """The page's address with a token in its fragment, which no browser sends."""
    return f"{url}#token={quote(token, safe='')}"


def has_browser() -> bool:
    if not sys.stdout.isatty() or not (sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ)):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
