"""What a CLI has to tell us to be driven. Everything here is pure: values in, values and bytes out.

A `Backend` knows how to start its CLI and where the transcript will be. A `Dialogue` is one running process spoken to
over stdin and stdout, without doing any I/O itself: a CLI that wants a handshake or answers to its own requests is only
a longer dialogue. A `Decoder` turns lines into records.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.config import Tools
    from supervisor.records import AnyRecord, FailureKind

Parameter = str | int | float | bool

KEPT = "transcript"
"""The folder below an agent's own in which we keep transcripts for CLIs that write none that can be used."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One agent as it is to be started."""

    agent_id: str
    owner: str = ""
    """Whose agent it is: a part of the mark by which its processes are found."""
    folder: str
    """The agent's own folder, for logs and for whatever the CLI keeps."""
    session_id: str
    own_id: str = ""
    """What the CLI itself calls the session, where it does not take our name for it."""
    resume: bool = False
    cwd: str = ""
    """Where the CLI works; the agent's folder if empty."""
    command: tuple[str, ...] = ()
    """The program and its first arguments, where not the backend's own."""
    arguments: tuple[str, ...] = ()
    """Further arguments, at the end."""
    spent: float = 0.0
    """What the CLI will count on from, in dollars: what the session that it takes up has cost by its own account."""
    model: str = ""
    parameters: dict[str, Parameter] = {}
    """What else is to hold for the model, by the CLI's own names."""
    tools: Tools = "none"
    instructions: str = ""
    """The system prompt."""
    allow: tuple[str, ...] = ()
    """Further names or patterns of environment variables to pass on."""
    environment: dict[str, str] = {}

    @property
    def place(self) -> str:
        """The folder that the CLI works in."""
        return str(Path(self.cwd or self.folder).absolute())


UNREADABLE = (
    msgspec.DecodeError, UnicodeDecodeError, RecursionError, AttributeError, KeyError, TypeError, ValueError,
    OverflowError,
)  # fmt: skip
"""What decoding raises where a line is not a whole record of the expected shape, however odd it is."""


class Reply(NamedTuple):
    """What a line of output meant, what is to be written in answer, and whether the line belongs into a transcript."""

    records: list[AnyRecord]
    write: bytes = b""
    keep: bool = False


class Decoder(Protocol):
    """Lines of one transcript into records, in order; remembers what it must not give out twice."""

    @property
    def first_keys(self) -> tuple[str, ...]:
        """How records usually begin: where to look for one in a damaged line."""

    def decode(self, line: bytes, offset: int) -> list[AnyRecord]:
        """Raises one of `UNREADABLE` where the line is not a whole record."""

    def is_record(self, value: dict[str, Any]) -> bool:
        """Whether an object found in a damaged line is a record of its own, and not a part of a torn one."""


class Dialogue(Protocol):
    """One process, from its first byte of stdin to its last line of stdout."""

    def open(self) -> bytes:
        """What to write first; a `Ready` record has to come of it, or `SessionLost`."""

    def ask(self, ask_id: str, prompt: str) -> bytes:
        """The prompt; where the session holds it already, unanswered, only the wish for an answer."""

    def interrupt(self) -> bytes:
        """What breaks off the running turn; empty where a CLI cannot do that."""

    def permit(self, permission_id: str, allow: bool) -> bytes:
        """The answer to a `PermissionAsked`; empty if it is not waited for any more."""

    def hear(self, line: bytes) -> Reply:
        """A line of stdout; raises like `Decoder.decode`."""


class SignIn(NamedTuple):
    """How one can tell whether somebody is signed in, without looking into what they sign in with."""

    variables: tuple[str, ...] = ()
    """With one of these set, it is; names or patterns."""
    command: tuple[str, ...] = ()
    """Arguments that make the CLI say so by its exit status."""
    files: tuple[str, ...] = ()
    """Files that are there when it is, below HOME or the folder of data (`$XDG_DATA_HOME/`)."""
    how: str = ""
    """What to do about it."""


class Backend(ABC):
    """One kind of CLI; what most of them have in common need not be said again."""

    name: str = ""
    program: tuple[str, ...] = ()
    """The program and its first arguments, where the configuration names no other."""
    free: bool = False
    """Whether it costs nothing, so that its agents may have a life of their own unasked."""
    allow: tuple[str, ...] = ()
    """The environment variables that this CLI needs to sign in and to reach its model."""
    keeps: bool = True
    """Whether the CLI writes a transcript of its own; else what it prints is kept as one."""
    tells_retries: bool = False
    """Whether its transcript says that it tries again; else what it prints is believed."""
    tells_cost: bytes = b""
    """What stands in the lines that say what a session has cost, where the CLI counts on from the last of them."""
    oldest: str = ""
    """The oldest version that is known to work."""
    tested: str = ""
    """The version that it was measured on."""
    install: str = ""
    """How to get it."""
    sign_in: SignIn | None = None
    """Nothing, where there is no signing in."""
    parameters: tuple[str, ...] | None = ()
    """The parameters that it takes; None for any."""

    @abstractmethod
    def command(self, launch: Launch) -> list[str]:
        """The whole command line."""

    @abstractmethod
    def decoder(self) -> Decoder:
        """For its transcript."""

    @abstractmethod
    def dialogue(self, launch: Launch) -> Dialogue:
        """With a process that was just started."""

    def environment(self, launch: Launch) -> dict[str, str]:
        """Variables to set for it."""
        return {}

    def files(self, launch: Launch) -> dict[str, str]:
        """Files that have to be in the agent's folder before it starts, with what is in them."""
        return {}

    def watched(self, launch: Launch, environment: Mapping[str, str]) -> Path:
        """The folder below which its transcript will be."""
        return Path(launch.folder).absolute() / KEPT

    def locate(self, launch: Launch, environment: Mapping[str, str]) -> Path | None:
        """The transcript, once it is there."""
        path = kept_transcript(launch)
        return path if path.exists() else None

    def cost_told(self, line: bytes) -> float | None:
        """What a session has cost by a line of its transcript that has `tells_cost` in it."""
        return None

    def resumable_at(self, launch: Launch, environment: Mapping[str, str]) -> float:
        """The Unix time before which it must not be told to resume its session."""
        return 0.0

    def too_old(self, version: str) -> str:
        """Why a version will not do; nothing where it will, or cannot be told."""
        if not self.oldest or not version_of(version) or version_of(version) >= version_of(self.oldest):
            return ""
        return f"{self.name} {version} is too old, {self.oldest} or newer is needed: {self.install or 'update it'}"

    def untested(self, version: str) -> str:
        """What to tell people of a version that nobody tested; nothing where it is near to one that was."""
        found, known = version_of(version), version_of(self.tested)
        if known and not found:
            return f"{self.name} does not say its version; {self.tested} was tested"
        if known and found[:2] > known[:2]:
            return f"{self.name} {version} is newer than {self.tested}, which was tested"
        return ""


def kept_transcript(launch: Launch) -> Path:
    return Path(launch.folder).absolute() / KEPT / f"{launch.session_id}.jsonl"


def table(value: Any) -> dict[str, Any]:
    """What should be an object, if it is one."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[dict[str, Any]]:
    """What should be a list of objects, as far as it is one."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


MOST = 1e15
"""No number that means anything is larger; one that cannot be counted with or stored would end more than its agent."""


def count(value: Any) -> int:
    """What should be a number, if it is one."""
    return int(value) if isinstance(value, int | float) and abs(value) < MOST else 0


def finite(value: Any) -> float | None:
    """The same for money and time."""
    return float(value) if isinstance(value, int | float) and abs(value) < MOST else None


def is_name(own_id: str) -> bool:
    """Whether a CLI's own name for a session may stand in a path."""
    return re.fullmatch(r"[A-Za-z0-9][\w.:-]{0,199}", own_id) is not None


def version_of(text: str) -> tuple[int, ...]:
    """The first thing in it that looks like a version."""
    found = re.search(r"\d{1,9}(?:\.\d{1,9})+", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


class Once:
    """Knows again what was told before; the hashes of the newest are enough, and small."""

    def __init__(self, most: int = 20_000) -> None:
        self._order: deque[int] = deque()
        self._seen: set[int] = set()
        self._most = most

    def first(self, name: str | None) -> bool:
        """Whether this was not told before; what has no name always is."""
        if not name:
            return True
        known = hash(name)
        if known in self._seen:
            return False
        self._seen.add(known)
        self._order.append(known)
        if len(self._order) > self._most:
            self._seen.discard(self._order.popleft())
        return True


# -- what several CLIs say alike ---------------------------------------------------------------------------------------

SUMMARY_LENGTH = 120
LONGEST_WISH = 4000
"""How much is shown of what somebody is to allow."""
BY_STATUS: dict[int, FailureKind] = {
    400: "invalid_request", 401: "authentication", 402: "billing", 403: "authentication", 404: "invalid_request",
    408: "network", 413: "context", 429: "rate_limit", 503: "overloaded", 529: "overloaded",
}  # fmt: skip
BY_WORDS: tuple[tuple[FailureKind, str], ...] = (
    ("context", r"prompt is too long|context.?(window|length|limit|overflow)|exceeds? (the )?(maximum|model context)"),
    ("rate_limit", r"rate.?limit|usage limit|quota|too many requests|\b429\b"),
    ("authentication", r"api key|unauthori[sz]ed|authenticat|credential|log ?in\b|sign ?in|\b40[13]\b"),
    ("overloaded", r"overloaded|high demand|\b(503|529)\b"),
    ("billing", r"billing|payment|credit balance"),
    ("network", r"stream (disconnected|closed)|ECONN|ENOTFOUND|fetch failed|network|connection re(fused|set)|hang up"),
    ("server", r"internal server error|server error|\b5\d\d\b"),
)  # fmt: skip
SPAN = r"[\d.]+\s*(?:ms|milli\w*|s|sec\w*|m|min\w*|h|hours?|d|days?)(?![a-z])"
SECONDS = r"(\d+)(?=[.,;)]?(?:\s|$))(?!\s+[a-z])"
WAIT = re.compile(rf"(?:retry|again|reset\w*)[\s-]+(?:in|after):?\s+(?:((?:{SPAN}[\s,and]*)+)|{SECONDS})", re.I)
LONGEST_WAIT = 366 * 86_400.0
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def failure_kind(message: str, status: int | None = None) -> FailureKind:
    """What went wrong, by the HTTP status where there is one, and by the words of the message."""
    by_words: FailureKind = next((kind for kind, words in BY_WORDS if re.search(words, message, re.I)), "unknown")
    if status is None or not 400 <= status < 600:
        return by_words
    if status == 400 and by_words in ("context", "authentication", "billing"):
        return by_words
    return BY_STATUS.get(status, "server" if status >= 500 else "invalid_request")


def wait_named_in(message: str) -> float | None:
    """How many seconds to wait, where a message says it in words."""
    found = WAIT.search(message)
    if found is None:
        return None
    total = 0.0
    for number, unit in re.findall(r"([\d.]+)\s*([a-z]+)", found[1] or f"{found[2]} s", re.I):
        unit = unit.lower()
        size = 0.001 if unit == "ms" or unit.startswith("milli") else UNITS[unit[0]]
        total += float(re.match(r"\d*(?:\.\d+)?", number)[0] or 0) * size  # type: ignore[index]  # it always matches
    return min(total, LONGEST_WAIT) or None


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY_LENGTH else line[: SUMMARY_LENGTH - 1] + "…"


COMMANDS = ("command", "cmd")
TELLING = (*COMMANDS, "file_path", "filePath", "path", "pattern", "query", "url", "description", "prompt")


def tool_summary(given: Any) -> str:
    """The one thing about a tool call that a person wants to see."""
    key = _most_telling(given)
    return shorten(_words(given[key])) if key else ""


def what_it_wants(given: Any) -> str:
    """All of it, for whoever is to allow it: what tells most comes first, and what the agent says about it not at all
    where there is a command."""
    key = _most_telling(given)
    if not key:
        return ""
    rest = {name: value for name, value in given.items() if name != key and value not in (None, "", [], {})}
    if key in COMMANDS:
        rest.pop("description", None)
    return whole_wish("\n".join([_words(given[key]), *(_field(name, _words(value)) for name, value in rest.items())]))


def whole_wish(text: str) -> str:
    """As much of it as can be shown, and how much is missing."""
    if len(text) <= LONGEST_WISH:
        return text
    return f"{text[:LONGEST_WISH]}\n… and {len(text) - LONGEST_WISH:,} more characters"


def _most_telling(given: Any) -> str:
    if not isinstance(given, dict):
        return ""
    known = (key for key in TELLING if given.get(key) and isinstance(given[key], str | list))
    return next(known, next((key for key, value in given.items() if isinstance(value, str) and value), ""))


def _field(name: str, value: str) -> str:
    return f"{name}:\n{value}" if "\n" in value else f"{name}: {value}"


def _words(value: Any) -> str:
    """A text or the words of a command as they stand, all else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return " ".join(value)
    return json.dumps(value, ensure_ascii=False)


def line_of(value: object) -> bytes:
    """One line of JSON in ASCII: lone surrogates in a prompt cannot spoil it."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
