"""How a conversation looks in a terminal, in a pipe, and to a program."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from supervisor import events as e

from .options import escaped, printable

if TYPE_CHECKING:
    from types import TracebackType

    from supervisor.bus import Frame

ENDS: dict[e.EndReason, str] = {
    "keyword": "They agree.",
    "timer": "Time is up.",
    "user": "Stopped.",
    "agent_exit": "An agent's program ended.",
    "message_limit": "So many turns were asked for.",
    "all_skipped": "Nobody has anything to add.",
    "context_limit": "Conversation approaching model context limit.",
    "budget": "The budget is spent.",
    "error": "Something failed.",
}
COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")


class Screen(Protocol):
    def __enter__(self) -> Screen: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None
    ) -> None: ...
    def show(self, frame: Frame) -> None: ...
    def ended(self, end: e.AutoModeEnded) -> None: ...


def why(end: e.AutoModeEnded) -> str:
    detail = f" ({printable(end.detail)})" if end.detail and end.reason in ("error", "agent_exit") else ""
    return ENDS[end.reason].removesuffix(".") + detail + "."


class PlainScreen:
    """For pipes and files: each turn when it is done."""

    def __init__(self) -> None:
        self.people: dict[str, e.AgentJoined] = {}

    def __enter__(self) -> PlainScreen:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, frame: Frame) -> None:
        match frame.event:
            case e.AgentJoined():
                self.people[frame.event.agent_id] = frame.event
            case e.AutoModeStarted():
                self.print(f"{frame.event.topic}\n")
            case e.MessageAdded(message=message):
                self.message(message)
            case e.RoomOutcome(message=message):
                self.print(f"Outcome, by {message.author_name}:\n{message.content}\n")
            case e.KeywordIgnored():
                self.print(f"(the keyword came before turn {frame.event.minTurns} and is ignored)\n")
            case e.Status(level="error" | "warning"):
                click.echo(f"supervisor: {printable(frame.event.message)}", err=True)

    def message(self, message: e.Message) -> None:
        if message.type == "agent" or (message.type == "error" and message.author in self.people):
            who = self.people[message.author]
            lead = f"{who.name} ({who.role}): " if message.type == "agent" else ""
            self.print(f"{lead}{message.content}\n")
        elif message.type == "system" and "skipped their turn" in message.content:
            self.print(f"({message.content})\n")

    def print(self, text: str) -> None:
        click.echo(printable(text))

    def ended(self, end: e.AutoModeEnded) -> None:
        click.echo(why(end))


class JsonScreen(PlainScreen):
    """For programs: every event as it is stored, up to the end."""

    def show(self, frame: Frame) -> None:
        if frame.seq is not None:
            sys.stdout.write(escaped(frame.text) + "\n")
            sys.stdout.flush()

    def ended(self, end: e.AutoModeEnded) -> None:
        pass


class RichScreen(PlainScreen):
    """For people: words as they are said, and a line that says how things stand."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(highlight=False)
        self._speaker: str | None = None
        self._words = ""
        self._turn = 0
        self._state = "starting"
        self._ends_at = 0.0
        self._tokens: dict[str, int] = {}
        self._live = Live(console=self.console, get_renderable=self._now, refresh_per_second=8, transient=True)

    def __enter__(self) -> RichScreen:
        self._live.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._live.__exit__(None, None, None)

    def show(self, frame: Frame) -> None:
        match frame.event:
            case e.AutoModeStarted() | e.AutoModeResumed():
                self._ends_at = frame.event.endsAt
            case e.TurnStarted():
                self._speaker, self._words, self._turn = frame.event.agent_id, "", frame.event.turn
            case e.AgentStateChanged() if frame.event.agent_id == self._speaker:
                self._state = frame.event.state
            case e.TextDelta():
                self._words += frame.event.text
            case e.UsageReported() as used:
                self._tokens[used.agent_id] = used.input_tokens + used.output_tokens
            case e.Retried() as again if again.agent_id == self._speaker:
                self._state = f"trying again, {again.attempt} of {again.max_retries} ({again.reason})"
            case e.AutoModePaused():
                self._state = f"paused: {frame.event.detail or frame.event.reason}"
        super().show(frame)

    def message(self, message: e.Message) -> None:
        self._words = ""
        super().message(message)

    def print(self, text: str) -> None:
        name, colon, rest = printable(text).partition("): ")
        style = f"bold {self._colour(name)}"
        self.console.print(Text.assemble((f"{name}{colon}", style), rest) if colon else Text(name))

    def _colour(self, lead: str) -> str:
        names = [f"{who.name} ({who.role}" for who in self.people.values()]
        return COLOURS[names.index(lead) % len(COLOURS)] if lead in names else "white"

    def _now(self) -> Group:
        """What is being said, and the status line."""
        speaker = self.people.get(self._speaker or "")
        parts = []
        if speaker is not None and self._words:
            lead = f"{speaker.name} ({speaker.role}"
            words = Text.assemble((f"{lead}): ", f"bold {self._colour(lead)}"), printable(self._words))
            lines = words.wrap(self.console, self.console.width)
            parts.append(Text("\n").join(lines[-max(1, self.console.height - 4) :]))
        left = max(0, int(self._ends_at - time.time())) if self._ends_at else 0
        name = speaker.name if speaker else ""
        line = f"turn {self._turn} · {left // 60}:{left % 60:02d} left · {sum(self._tokens.values()):,} tokens"
        parts.append(
            Text(f"── {line} · {name} {printable(self._state)}", style="dim", no_wrap=True, overflow="ellipsis")
        )
        return Group(*parts)

    def ended(self, end: e.AutoModeEnded) -> None:
        self.console.print(Text(why(end), style="bold"))
