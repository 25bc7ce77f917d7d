"""What several tests need."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import trio

from supervisor.driving.agent import DrivenAgent
from supervisor.driving.agent import new_ask_id as new_ask_id
from supervisor.driving.backends import backend
from supervisor.driving.backends.base import Launch
from supervisor.driving.limits import Limits
from supervisor.driving.watcher import Watcher
from supervisor.records import PromptTaken

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from supervisor.driving.backends.base import Backend
    from supervisor.driving.tail import Bookmark
    from supervisor.driving.turn import Outcome
    from supervisor.records import AnyRecord

ROOT = Path(__file__).parent.parent
SAMPLES = Path(__file__).parent / "data" / "claude"
PR_SET_CHILD_SUBREAPER = 36

QUICK = Limits(
    start=10, backoff=0.01, backoff_most=0.05, write=5, silence=20, interrupt=1, settle=0.2, transcript_wait=0.4,
    close=0.4, term=0.4, rescan=0.2,
)  # fmt: skip
"""The limits of real life, scaled down."""
SHORT = msgspec.structs.replace(QUICK, silence=0.3, interrupt=0.5)


def become_subreaper() -> None:
    """Orphans of our children become our own children, so that none can hide."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def children() -> list[str]:
    """What runs below this process; those that have ended are buried on the way."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.status() == psutil.STATUS_ZOMBIE:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)
            elif command := " ".join(process.cmdline()):  # one that is ending has given up its memory, and so its name
                found.append(f"{process.pid} {command[:120]}")
    return found


def end_children() -> None:
    left = psutil.Process().children(recursive=True)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=5)


def three_ways(data: bytes, fresh: Callable[[], Callable[[bytes], list[Any]]]) -> list[Any]:
    """Feed whole, byte by byte, and in odd pieces; all must give the same, which is returned."""
    whole = fresh()(data)
    feed = fresh()
    bytewise = [item for n in range(len(data)) for item in feed(data[n : n + 1])]
    feed = fresh()
    pieces = [item for n in range(0, len(data), 977) for item in feed(data[n : n + 977])]
    assert bytewise == whole
    assert pieces == whole
    return whole


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def toml_file(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


class FakeCli:
    """The fake CLI as a plain subprocess, spoken to line by line."""

    SERVE = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")

    def __init__(self, home: Path, *arguments: str, cwd: Path | None = None, serve: bool = True) -> None:
        self.config = home / "config"
        self.cwd = cwd or home
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CLAUDE_CONFIG_DIR": str(self.config)}
        command = [sys.executable, "-P", "-m", "fake_cli", *(self.SERVE if serve else ()), *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self.cwd, env=environment, start_new_session=True
        )

    def __enter__(self) -> FakeCli:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                if pipe:
                    pipe.close()

    def send(self, *lines: dict[str, Any] | str) -> None:
        assert self.process.stdin
        for line in lines:
            text = line if isinstance(line, str) else json.dumps(line)
            self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, text: str, uuid: str | None = None) -> str:
        uuid = uuid or new_ask_id()
        self.send({"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}})
        return uuid

    def read(self) -> dict[str, Any] | None:
        assert self.process.stdout
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def until(self, kind: str, **fields: Any) -> list[dict[str, Any]]:
        """All lines up to the first of this type with these fields."""
        lines = []
        while (line := self.read()) is not None:
            lines.append(line)
            if line.get("type") == kind and all(line.get(k) == v for k, v in fields.items()):
                return lines
        raise AssertionError(f"no {kind} {fields} before the end; saw {[x.get('type') for x in lines]}")

    def turn(self, text: str, uuid: str | None = None) -> list[dict[str, Any]]:
        uuid = self.ask(text, uuid)
        return self.until("command_lifecycle", command_uuid=uuid, state="completed")

    def finish(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(10)

    @property
    def transcript(self) -> list[dict[str, Any]]:
        (path,) = self.config.glob("projects/*/*.jsonl")
        return read_jsonl(path)

    @property
    def errors(self) -> str:
        assert self.process.stderr
        return self.process.stderr.read().decode()


class Driven:
    """A driven agent under test, and everything it reported."""

    def __init__(self, agent: DrivenAgent, records: list[AnyRecord], watcher: Watcher) -> None:
        self.agent, self.records, self.watcher = agent, records, watcher

    def of(self, *kinds: type) -> list[Any]:
        return [record for record in self.records if isinstance(record, kinds)]

    @property
    def notes(self) -> list[str]:
        from supervisor.records import Note

        return [record.text for record in self.of(Note)]


def launch(folder: Path, scenario: Path | None = None, **fields: Any) -> Launch:
    arguments = ("--scenario", str(scenario)) if scenario else ()
    defaults: dict[str, Any] = {"agent_id": "agent_001", "folder": str(folder), "session_id": new_ask_id()}
    return Launch(**{**defaults, "arguments": arguments, **fields})


@contextlib.asynccontextmanager
async def driven(
    what: Launch,
    *,
    limits: Limits = QUICK,
    bookmark: Bookmark | None = None,
    name: str = "fake",
    kind: Backend | None = None,
) -> AsyncIterator[Driven]:
    """An agent that is up, and gone afterwards."""
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            watcher = Watcher()
            await nursery.start(watcher.run)
            records: list[AnyRecord] = []
            agent = DrivenAgent(kind or backend(name), what, watcher, records.append, limits=limits, bookmark=bookmark)
            await nursery.start(agent.run)
            yield Driven(agent, records, watcher)
            await agent.stop()
            nursery.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def asking(it: Driven, prompt: str = "go") -> AsyncIterator[list[Outcome]]:
    """Inside, a turn is running that the CLI has taken up; its outcome is in the list when there is one."""
    outcomes: list[Outcome] = []

    async def ask() -> None:
        outcomes.append(await it.agent.ask(new_ask_id(), prompt))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await eventually(lambda: it.of(PromptTaken))
        yield outcomes


async def eventually(happened: Callable[[], Any], seconds: float = 10) -> Any:
    """Wait until it is true, or fail."""
    with trio.fail_after(seconds):
        while not (value := happened()):  # noqa: ASYNC110  outside things have no event to wait for
            await trio.sleep(0.005)
    return value


def eventually_sync(happened: Callable[[], Any], seconds: float = 10) -> Any:
    end = time.monotonic() + seconds
    while not (value := happened()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)
    return value


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def brief(record: Any) -> str:
    """A record in a few words, for tables of what is expected."""
    from supervisor import records as r

    match record:
        case r.PromptSeen():
            return f"seen {record.text}"
        case r.PromptTaken():
            return f"taken {record.state}"
        case r.Text() | r.Thinking() | r.Delta():
            return f"{type(record).__name__.lower()} {record.text}"
        case r.ToolUse():
            return f"tool {record.tool}: {record.summary}"
        case r.ToolResult():
            return f"tool result {'error ' if record.is_error else ''}{record.summary}"
        case r.Usage():
            return f"usage {record.input_tokens} in, {record.output_tokens} out, {record.context_tokens} context"
        case r.Window():
            return f"window {record.tokens}"
        case r.Retry():
            return (
                f"retry {record.attempt}/{record.max_retries} after {record.delay_ms} ms: {record.kind} {record.status}"
            )
        case r.Failure():
            return f"failure {record.kind} {record.status}"
        case r.RateLimit():
            return f"rate limit {record.status} {record.limit}"
        case r.TurnEnd():
            return f"turn end {record.outcome}: {record.text}"
        case r.MessageEnd() | r.Interrupted() | r.Ready() | r.Compacted():
            return type(record).__name__.lower()
        case r.Damage():
            return f"damage at {record.offset} for {record.length}: {record.reason}"
    return str(record)


def texts(records: Iterable[Any]) -> list[str]:
    from supervisor.records import Text

    return [record.text for record in records if isinstance(record, Text)]


def turns(*steps: str, after: str = "echo", start: str = "") -> str:
    """A scenario with one turn for each list of steps."""
    body = "".join(f"[[turn]]\nsteps = [ {step} ]\n" for step in steps)
    return f'after = "{after}"\n[start]\n{start}\n{body}'


async def one_turn(folder: Path, steps: str, limits: Limits = QUICK) -> Outcome:
    scenario = toml_file(folder.parent / "s.toml", turns(steps))
    async with driven(launch(folder, scenario), limits=limits) as it:
        return await it.agent.ask(new_ask_id(), "hello")


SUPERVISOR = [sys.executable, "-c", "from supervisor.cli import main; main()"]


def supervisor(*arguments: str, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, as somebody would run it."""
    return subprocess.run(
        [*SUPERVISOR, *arguments], capture_output=True, text=True, timeout=timeout, env={**os.environ, **environment}
    )


class Started(msgspec.Struct, frozen=True):
    """A server that runs."""

    process: subprocess.Popen[str]
    folder: Path
    url: str
    ws_url: str
    token: str
    view_token: str


@contextlib.contextmanager
def server(folder: Path, *arguments: str, **environment: str) -> Iterator[Started]:
    """`supervisor start` as a process of its own, stopped cleanly afterwards."""
    state = folder / "state"
    port = () if "--port" in arguments else ("--port", "0")
    life = () if {"--life", "--no-life"} & {*arguments} else ("--no-life",)
    command = [*SUPERVISOR, "start", "--state-dir", str(state), "--no-open", *port, *life, *arguments]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **environment})
    assert process.stdout
    first = process.stdout.readline()
    try:
        assert first, process.communicate()[1]
        note = json.loads((state / "server.json").read_text())
        yield Started(process, state, note["url"], note["ws_url"], note["token"], note["view_token"])
    finally:
        process.terminate()
        try:
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()  # one that does not stop fails its own test, and none after it
    assert "Traceback" not in errors
    assert process.returncode in (0, -9)
