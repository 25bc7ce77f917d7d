"""The program: stdin lines in, turns out, and the manners of the real one about signals, bad lines and closed pipes."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys
import time

from . import lines as shapes
from . import transcript
from .api_errors import API_ERRORS
from .lines import Usage
from .printed import Printed
from .scenario import BadScenario, Scenario, Step, Turn, load
from .turn import Performance, ignore_signals
from .written import Written

TYPE_CHECKING = False  # importing typing would cost two megabytes a process
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any, NoReturn

    from .lines import Line

UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
ALL_TOOLS = ["Bash", "Edit", "Glob", "Grep", "Read", "Write"]


class Interrupted(Exception):
    """The running turn is to stop at once."""


class Prompt:
    """One user line from stdin."""

    def __init__(self, content: Any, ask_id: str | None) -> None:
        self.content = content
        self.text = transcript.text_of(content)
        self.ask_id = ask_id
        self.uuid = ask_id or shapes.new_id()


class App:
    """One session, from its first byte of stdin to its exit status."""

    def __init__(self, options: Namespace, scenario: Scenario | None) -> None:
        self.options = options
        self.scenario = scenario
        self.remembers = scenario is None or scenario.after == "persona"
        self.started = time.time()
        self.session_id: str = options.resume or options.session_id or shapes.new_id()
        tools = ALL_TOOLS if options.tools == "default" else [t for t in options.tools.split(",") if t]
        if options.session_id and not UUID.fullmatch(options.session_id):
            sys.exit(f"fake-cli: --session-id {options.session_id!r} is not a valid UUID.")
        cwd = os.path.realpath(os.getcwd())
        about = (self.session_id, cwd, options.model, tools, options.permission_mode)
        self.lines, self.written = Printed(*about), Written(*about)
        path = transcript.find(self.session_id)
        if options.resume and path is None:
            self._refuse(f"No conversation found with session ID: {self.session_id}")
        if path is not None and not options.resume:
            sys.exit(f"fake-cli: session {self.session_id} exists already; use --resume to go on with it.")
        folder = os.path.join(transcript.projects_folder(), transcript.folder_name(cwd))
        self.transcript = transcript.Transcript(
            path or os.path.join(folder, f"{self.session_id}.jsonl"), self.session_id
        )
        self.past = transcript.read(path) if path else transcript.Past()
        self._answered_before = set(self.past.answered)
        self._taken: set[str] = set()
        self._decisions: dict[Any, Line] = {}
        self.total = Usage(*self.past.spent)
        self.results = 0
        self.waiting: list[Prompt] = []
        self.eof = self.interrupt_asked = self.leaving = self.in_turn = False
        self.stdout_gone = False
        self.hoard = bytearray()
        self.status = 0
        self._buffer = b""
        self._persona: Any = None
        self._wake, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, self._on_int)
        signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
        signal.signal(signal.SIGHUP, lambda *_: os._exit(129))

    # -- output ---------------------------------------------------------------------------------------------------

    def print(self, line: Line) -> None:
        if self.options.output_format == "stream-json":
            self.write(1, transcript.dumps(line) + b"\n")

    def write(self, fd: int, data: bytes) -> None:
        """Write it all; whoever read us may be gone, and the turn is finished all the same."""
        if self.stdout_gone and fd == 1:
            return
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(fd, view) :]
        except BrokenPipeError:
            self.stdout_gone = self.stdout_gone or fd == 1

    def _refuse(self, why: str) -> NoReturn:
        line = self.lines.result(
            turn=Usage(), total=Usage(), stop_reason=None, terminal_reason="error", num_turns=0, index=0, ms=0,
            errors=[why],
        )  # fmt: skip
        if self.options.output_format == "stream-json":
            os.write(1, transcript.dumps(line) + b"\n")
        sys.exit(why)

    # -- input ----------------------------------------------------------------------------------------------------

    def _on_int(self, *_: Any) -> None:
        self.interrupt_asked = self.leaving = True

    def pause(self, seconds: float) -> None:
        """Let time pass and take in what arrives; raises Interrupted when the turn is to stop."""
        end = time.monotonic() + seconds
        while True:
            self.pump(max(0.0, end - time.monotonic()))
            if self.interrupt_asked and self.in_turn:
                raise Interrupted
            if time.monotonic() >= end:
                return

    def pump(self, timeout: float | None) -> None:
        """Read what stdin has, waiting up to `timeout` for the first of it."""
        ready, _, _ = select.select([self._wake] if self.eof else [0, self._wake], [], [], timeout)
        if self._wake in ready:
            os.read(self._wake, 512)
        if 0 in ready:
            data = os.read(0, 1 << 20)
            self.eof = not data
            *whole, self._buffer = (self._buffer + data).split(b"\n")
            if self.eof and self._buffer:
                whole, self._buffer = [*whole, self._buffer], b""
            for line in whole:
                if line.strip():
                    self._take(line)

    def _take(self, raw: bytes) -> None:
        try:
            line = json.loads(raw)
            kind = line["type"]
            if kind == "user" and line["message"]["role"] != "user":
                raise ValueError(f"Expected message role 'user', got {line['message']['role']!r}")
            prompt = Prompt(line["message"]["content"], line.get("uuid")) if kind == "user" else None
            if prompt is not None and not isinstance(prompt.ask_id, str | None):
                raise ValueError("uuid is no string")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            sys.stderr.write(f"Error parsing streaming input line: {error}\n")
            raise SystemExit(1) from None
        if prompt is not None:
            self._queue(prompt)
        elif kind == "control_request":
            self._control(line)
        elif kind == "control_response" and isinstance(line.get("response"), dict):
            self._decisions[line["response"].get("request_id")] = line["response"]

    def _queue(self, prompt: Prompt) -> None:
        if prompt.ask_id in self.past.answered or prompt.ask_id in self._taken:
            self._queue_again(prompt)
            return
        if prompt.ask_id:
            self._taken.add(prompt.ask_id)
            self.print(self.lines.lifecycle(prompt.ask_id, "queued"))
        self.transcript.append(self.written.queue("enqueue", prompt.text))
        self.waiting.append(prompt)

    def _queue_again(self, prompt: Prompt) -> None:
        """A prompt that was taken before is never run again; only an earlier process's is acknowledged."""
        if self.options.replay_user_messages:
            self.print(self.lines.replay(prompt.content, prompt.uuid, shapes.timestamp()))
        if prompt.ask_id in self._answered_before:
            self.print(self.lines.lifecycle(prompt.uuid, "completed"))

    def refused(self, tool: str, given: Any, tool_id: str) -> str | None:
        """Ask whoever started us whether a tool may be used, and wait for the answer: why not, or nothing."""
        if self.options.permission_prompt_tool != "stdio" or self.options.input_format != "stream-json":
            return f"Claude requested permissions to use {tool}, but you haven't granted it yet."
        request_id = shapes.new_id()
        self.print(self.lines.can_use_tool(request_id, tool, given, tool_id))
        while request_id not in self._decisions:
            if self.eof:
                return "The permission was not decided before stdin was closed."
            self.pump(None)
            if self.interrupt_asked:
                self.print({"type": "control_cancel_request", "request_id": request_id})
                raise Interrupted
        answer = self._decisions.pop(request_id)
        decision = answer.get("response")
        if answer.get("subtype") != "success" or not isinstance(decision, dict):
            return f"The permission could not be asked for: {answer.get('error')}"
        if decision.get("behavior") == "allow" and isinstance(decision.get("updatedInput"), dict):
            return None
        return str(decision.get("message", "It was neither allowed, with an updatedInput, nor denied."))

    def _control(self, line: Line) -> None:
        request = line.get("request")
        request = request if isinstance(request, dict) else {}
        request_id, subtype = line.get("request_id"), request.get("subtype")
        if subtype == "initialize":
            answer: Line = {
                "claude_code_version": shapes.VERSION,
                "pid": os.getpid(),
                "models": [self.lines.model],
            }
            self.print(self.lines.control(request_id, answer))
        elif subtype == "interrupt":
            self.interrupt_asked = self.in_turn
            self.print(self.lines.control(request_id, {"still_queued": []}))
        elif subtype == "set_model":
            self.lines.model = self.written.model = request.get("model") or self.lines.model
            self.print(self.lines.control(request_id, {"model": self.lines.model}))
        elif subtype == "end_session":
            self.print(self.lines.control(request_id))
            self.eof = True
        else:
            self.print(self.lines.control(request_id, error=f"Unsupported control request subtype: {subtype}"))

    # -- turns ----------------------------------------------------------------------------------------------------

    def persona(self) -> Any:
        """Whoever speaks; loaded late, because a scenario has no need of it, and rebuilt from the transcript."""
        if self._persona is None:
            from .persona import Persona

            instructions = "\n".join(filter(None, [self.options.system_prompt, self.options.append_system_prompt]))
            self._persona = Persona(instructions, self.options.seed)
            for heard, said in self.past.exchanges:
                self._persona.remember(heard, said)
        return self._persona

    def script(self, prompt: str) -> Turn:
        """What is to happen with this prompt."""
        number = self.past.turns
        if self.scenario is not None:
            turns, after = self.scenario.turns, self.scenario.after
            if number < len(turns):
                return turns[number]
            if after == "repeat" and turns:
                return turns[number % len(turns)]
            if after == "skip":
                return Turn([Step("skip", True)])
            if after == "silence":
                return Turn([Step("silence", True)])
            if after != "persona":
                return Turn([Step("text", f"echo: {prompt}")])
        return Turn([Step("wait", self.options.think), Step("text", self.persona().answer(prompt))])

    def perform(self, prompts: list[Prompt]) -> Performance:
        self.in_turn, self.interrupt_asked = True, self.leaving
        performance = Performance(self, prompts)
        try:
            performance.run()
        except Interrupted:
            performance.abort()
        self.in_turn = self.interrupt_asked = False
        if self._persona is not None and performance.answer is not None:
            self._persona.remember(performance.text, performance.answer)
        if performance.exit_status is not None:
            raise SystemExit(performance.exit_status)
        return performance

    def serve(self) -> int:
        """Answer one prompt a line until stdin closes."""
        while not self.leaving:
            if self.waiting:
                prompts, self.waiting = self.waiting, []
                self.status = int(self.perform(prompts).failed)
            elif self.eof:
                break
            else:
                self.pump(None)
        self._close()
        return self.status

    def answer_once(self) -> int:
        """The plain -p mode: one prompt, one answer."""
        prompt = self.options.prompt
        if prompt is None:
            prompt = sys.stdin.read().strip()
        if not prompt:
            sys.exit("fake-cli: a prompt is missing: give it as an argument or on stdin.")
        self.eof = True
        self._queue(Prompt(prompt, None))
        performance = self.perform(self.waiting)
        self._close()
        if self.options.output_format == "text":
            self.write(1, performance.last_text.encode() + b"\n")
        elif self.options.output_format == "json":
            self.write(1, transcript.dumps(performance.result_line) + b"\n")
        return int(performance.failed)

    def _close(self) -> None:
        if os.path.exists(self.transcript.path):
            resumed = [self.written.plain("mode", mode="normal")] if self.options.resume else []
            self.transcript.append(*resumed, self.written.cost(self.total, self.started))


def begin_badly(start: dict[str, Any]) -> None:
    """Do what the scenario says before anything is read; how often it died is counted in the config folder."""
    if start.get("ignore_term"):
        ignore_signals()
    if start.get("stderr"):
        sys.stderr.write(start["stderr"] + "\n")
    if "crash" in start:
        counter = os.path.join(os.path.dirname(transcript.projects_folder()), "crashes")
        count = os.path.getsize(counter) if os.path.exists(counter) else 0
        if count < start.get("times", count + 1):
            os.makedirs(os.path.dirname(counter), exist_ok=True)
            with open(counter, "ab") as file:
                file.write(b".")
            raise SystemExit(start["crash"])
    time.sleep(start.get("wait", 0))
    if start.get("deaf"):
        while True:
            time.sleep(3600)


def run(options: Namespace) -> int:
    try:
        scenario = load(options.scenario, API_ERRORS) if options.scenario else None
    except BadScenario as error:
        sys.stderr.write(f"fake-cli: {error}\n")
        return 2
    if scenario is not None:
        begin_badly(scenario.start)
    try:
        app = App(options, scenario)
        if scenario is not None and scenario.start.get("ignore_term"):
            ignore_signals()
        return app.serve() if options.input_format == "stream-json" else app.answer_once()
    except OSError as error:
        sys.stderr.write(f"fake-cli: {error.filename or 'stdin'}: {error.strerror}\n")
        return 1
