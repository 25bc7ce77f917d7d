"""One turn performed: its steps become stdout events and transcript lines in the order of the real program."""

from __future__ import annotations

import os
import signal
import sys
import time

from . import lines as shapes
from .api_errors import API_ERRORS
from .lines import Usage, new_id, new_token, timestamp
from .printed import named

TYPE_CHECKING = False  # importing typing would cost two megabytes a process
if TYPE_CHECKING:
    from typing import Any

    from .app import App, Prompt
    from .lines import Line
    from .scenario import Step

CHUNK = 24
SITTER = "import sys, time; time.sleep(float(sys.argv[1]))"


class Performance:
    """The turn in progress, and afterwards what became of it."""

    def __init__(self, app: App, prompts: list[Prompt]) -> None:
        self.app = app
        self.lines, self.written = app.lines, app.written
        self.prompts = prompts
        self.text = "\n".join(prompt.text for prompt in prompts)
        self.ask_ids = [prompt.ask_id for prompt in prompts if prompt.ask_id]
        self.started = time.monotonic()
        self.failed = False
        self.answer: str | None = None
        self.last_text = ""
        self.result_line: Line = {}
        self.exit_status: int | None = None
        self._partial = app.options.include_partial_messages
        self._usage = Usage()
        self._prompt_id = new_id()
        self._said: list[str] = []
        self._unfinished = ""
        self._messages = 0
        self._message_id = ""
        self._request = ""
        self._denials: list[Line] = []
        self._held: list[tuple[Line, str, str]] = []  # block, uuid, time: written when the message is complete
        self._writes = True
        self._late: float | None = None
        self._late_lines: list[Line] = []

    # -- the frame ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        self._open()
        turn = self.app.script(self.text)
        self.speed = self.app.options.speed if turn.speed is None else turn.speed
        self.fixed_usage = turn.usage
        for step in turn.steps:
            self._step(step)
            if self.result_line:
                return self._close()
        self._finish("end_turn")
        self.answer = "".join(self._said)
        self._result(stop_reason="end_turn", terminal_reason="completed", text=self.last_text)
        self._close()

    def _open(self) -> None:
        app, past = self.app, self.app.past
        app.transcript.append(*[self.written.queue("dequeue") for _ in self.prompts])
        if past.unanswered is not None:
            app.transcript.append(self.written.no_response(past.last_uuid))
        if past.unanswered != self.prompts[-1].uuid:
            past.answered.update([past.unanswered] if past.unanswered else [])
            self._write_prompt()
            if past.turns == 0:
                self._write_surroundings()
        for ask_id in self.ask_ids:
            app.print(self.lines.lifecycle(ask_id, "started"))
        app.print(self.lines.init(self.ask_ids))
        if app.options.replay_user_messages:
            app.print(self.lines.replay(self.text, self.prompts[-1].uuid, timestamp()))
        past.unanswered = self.prompts[-1].uuid

    def _write_prompt(self) -> None:
        past, last = self.app.past, self.prompts[-1]
        content = last.content if len(self.prompts) == 1 else self.text
        line = self.written.prompt(
            past.last_uuid, self._prompt_id, content, last.uuid, timestamp(), past.turns + 1, self.ask_ids
        )
        self._chain(line)

    def _write_surroundings(self) -> None:
        """What stands around the first prompt of a session; less of it in a session without tools."""
        listings = ("deferred_tools_delta", "agent_listing_delta", "skill_listing") if self.lines.tools else ()
        for kind in ("environment", "model", *listings):
            self._chain(self.written.attachment(None, kind))
        self.app.transcript.append(self.written.plain("atis-latch", atis=""))
        change = ("remote_session_change",) if self.lines.tools else ()
        for kind in ("session_context", "date", *change, "prompt_snapshot"):
            self._chain(self.written.attachment(None, kind))
        session = {"sessionId": self.lines.session_id}
        shape = {"type": "api-request-shape", **session, "timestamp": timestamp(), "version": shapes.VERSION}
        self.app.transcript.append(shape, {"type": "api-request-blob", **session})

    def _close(self) -> None:
        past = self.app.past
        if past.turns == 0:
            self._chain(self.written.attachment(past.last_uuid, "prompt_snapshot"))
            last = {"lastPrompt": " ".join(self.text.split())[:200], "leafUuid": past.last_uuid}
            self.app.transcript.append(self.written.plain("last-prompt", **last))
            self.app.transcript.append(self.written.plain("atis-latch", atis=""))
        past.turns += 1
        past.unanswered = None
        past.answered.update(self.ask_ids)
        for ask_id in self.ask_ids:
            self.app.print(self.lines.lifecycle(ask_id, "cancelled" if self.failed else "completed"))
        past.add(self.text, self.answer or "", keep=self.app.remembers)
        self.app.total.add(self._usage)

    def _result(self, **fields: Any) -> None:
        total = Usage()
        total.add(self.app.total)
        total.add(self._usage)
        self.result_line = self.lines.result(
            turn=self._usage, total=total, num_turns=max(1, self._messages), index=self.app.results,
            ms=int((time.monotonic() - self.started) * 1000), ask_ids=self.ask_ids,
            denials=self._denials, **fields,
        )  # fmt: skip
        self.app.results += 1
        self.app.print(self.result_line)
        if self._late is not None:
            time.sleep(self._late)
            self._late, late = None, self._late_lines
            for line in late:
                self._chain(line)

    def abort(self) -> None:
        """Interrupted: the text so far is given, then a note, then a result; the process stays usable."""
        if self._unfinished:
            uuid, at = new_id(), timestamp()
            block = {"type": "text", "text": self._unfinished}
            line = self.lines.assistant(self._message_id, block, self._usage, uuid, at, self._request)
            self.app.print(line | {"aborted": True} | self._named())
            self._held.append((block, uuid, at))
        self._write_held(None, aborted=bool(self._unfinished))
        note, uuid, at = [{"type": "text", "text": "[Request interrupted by user]"}], new_id(), timestamp()
        self._chain(self.written.user(self.app.past.last_uuid, self._prompt_id, note, uuid, at))
        self.app.print(self.lines.user(note, uuid, at))
        self.failed = True
        self.answer = "".join(self._said) + self._unfinished
        why = ["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null"]
        self._result(stop_reason=None, terminal_reason="aborted_streaming", errors=why)
        self._close()

    # -- messages and blocks --------------------------------------------------------------------------------------

    def _chain(self, line: Line) -> None:
        if not self._writes:
            return
        if self._late is not None:
            self._late_lines.append(line)
            return
        if "parentUuid" in line:
            line["parentUuid"] = self.app.past.last_uuid
        self.app.transcript.append(line)
        self.app.past.last_uuid = line.get("uuid") or self.app.past.last_uuid

    def _begin(self) -> None:
        if self._message_id:
            return
        self._message_id, self._request = new_token("msg"), new_token("req")
        self._messages += 1
        first = self.app.past.turns == 0 and self._messages == 1
        self.app.transcript.append(self.written.api_request(new_id(), first, 2 * self.app.past.turns))
        fresh = shapes.tokens(self.text) if self._messages == 1 else 12
        self._this = Usage(
            self.fixed_usage.get("input", fresh), self.fixed_usage.get("cached", self.app.past.letters // 4),
            self.fixed_usage.get("created", 0), self.fixed_usage.get("output", 0),
        )  # fmt: skip
        if self._partial:
            ids = {"user_message_uuids": self.ask_ids} if self.ask_ids and self._messages == 1 else {}
            self.app.print(self.lines.system("status", status="requesting") | ids)
            start = {
                "type": "message_start",
                "message": self.lines.message(self._message_id, [], self._this),
            }
            fields = {"user_message_uuid": self.ask_ids[0], **ids, "owed_rows": []} if ids else {}
            line = self.lines.stream(start, self._message_id, ttft_ms=1, thinking_display="updates")
            self.app.print(line | fields)

    def _stream(self, event: Line) -> None:
        if self._partial:
            self.app.print(self.lines.stream(event, self._message_id))

    def _block(self, block: Line, empty: Line, delta: str, text: str) -> None:
        """Stream a block piece by piece, print it whole, and hold its transcript line until the message is complete."""
        self._begin()
        index = len(self._held)
        self._stream({"type": "content_block_start", "index": index, "content_block": empty})
        key = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}[delta]
        for piece in pieces(text):
            self.app.pause(len(piece) / self.speed if self.speed and delta != "input_json_delta" else 0)
            self._stream({"type": "content_block_delta", "index": index, "delta": {"type": delta, key: piece}})
            if delta == "text_delta":
                self._unfinished += piece
        self._unfinished = ""
        uuid, at = new_id(), timestamp()
        line = self.lines.assistant(self._message_id, block, self._this, uuid, at, self._request)
        self.app.print(line | self._named())
        self._stream({"type": "content_block_stop", "index": index})
        self._held.append((block, uuid, at))
        if "output" not in self.fixed_usage:
            self._this.out += shapes.tokens(text)
        if block["type"] == "text":
            self._said.append(text)
            self.last_text = text

    def _named(self) -> Line:
        """Only the first message of a turn names its prompts."""
        return named(self.ask_ids) if self._messages <= 1 else {}

    def _write_held(self, stop_reason: str | None, aborted: bool = False) -> None:
        if self._message_id:
            self._usage.add(self._this)
        for index, (block, uuid, at) in enumerate(self._held):
            last = aborted and index == len(self._held) - 1
            self._chain(
                self.written.assistant(
                    None,
                    self._message_id,
                    block,
                    self._this,
                    stop_reason,
                    uuid,
                    at,
                    self._request,
                    index,
                    last,
                )
            )
        self._held = []

    def _finish(self, stop_reason: str) -> None:
        """The message is complete: its lines go to the transcript together."""
        if not self._message_id:
            self._begin()
        if stop_reason == "end_turn" and not self._held:
            self._block({"type": "text", "text": ""}, {"type": "text", "text": ""}, "text_delta", "")
        self._write_held(stop_reason)
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        self._stream({"type": "message_delta", "delta": delta, "usage": self._this.early(self._this.out)})
        self._stream({"type": "message_stop"})
        self._message_id = ""

    # -- steps ----------------------------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        getattr(self, f"_do_{step.kind}")(step.value, **step.extras)

    def _do_text(self, text: str) -> None:
        self._block({"type": "text", "text": text}, {"type": "text", "text": ""}, "text_delta", text)

    def _do_mention(self, name: str, text: str = "") -> None:
        self._do_text(f"@{name} {text}".strip())

    def _do_skip(self, reason: Any) -> None:
        self._do_text("SKIP" if reason is True else f"SKIP: {reason}")

    def _do_keyword(self, parts: Any) -> None:
        keyword = self.app.persona().brief.keyword or "[CONVERSATION_END]"
        if parts == 2:
            self._do_text(keyword[: len(keyword) // 2])
            keyword = keyword[len(keyword) // 2 :]
        self._do_text(keyword)

    def _do_think(self, text: str) -> None:
        self.app.print(self.lines.system("thinking_tokens", estimated_tokens=3, estimated_tokens_delta=3))
        block = {"type": "thinking", "thinking": text, "signature": "c2ln"}
        self._block(block, {"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", text)

    def _do_tool(
        self, name: str, input: Any = None, result: str = "", seconds: float = 0, error: bool = False,
        permission: bool = False,
    ) -> None:  # fmt: skip
        tool_id = new_token("toolu")
        block = {"type": "tool_use", "id": tool_id, "name": name, "input": input or {}}
        self._block(block, block | {"input": {}}, "input_json_delta", str(input or {}))
        self.app.transcript.append(self.written.plain("tools-used", tools=[name]))
        self._finish("tool_use")
        refused = self.app.refused(name, input or {}, tool_id) if permission else None
        if refused is None:
            self.app.pause(seconds)
        else:
            self._denials.append({"tool_name": name, "tool_use_id": tool_id, "tool_input": input or {}})
            result, error = refused, True
        content = [{"tool_use_id": tool_id, "type": "tool_result", "content": result, "is_error": error}]
        uuid, at, decision = new_id(), timestamp(), "accept" if refused is None else "reject"
        self._chain(self.written.user(None, self._prompt_id, content, uuid, at, decision))
        self.app.print(self.lines.user(content, uuid, at, decision))
        self._absorb()

    def _absorb(self) -> None:
        """Prompts that came while a tool ran belong to this turn now."""
        for prompt in self.app.waiting:
            fields = {"reason": "absorbed_mid_turn", "commandUuid": prompt.uuid, "deliveryId": new_id()}
            self.app.transcript.append(self.written.queue("remove", prompt.text, **fields))
            self._chain(self.written.queued_command(None, prompt.text, prompt.uuid))
            if prompt.ask_id:
                self.app.print(self.lines.lifecycle(prompt.ask_id, "started"))
                self.ask_ids.append(prompt.ask_id)
        self.app.waiting = []

    def _do_stop(self, reason: str) -> None:
        self._finish(reason)

    def _do_wait(self, seconds: float) -> None:
        self.app.pause(seconds)

    def _do_error(self, name: str, retry_delay: float | None = None) -> None:
        error, request = API_ERRORS[name], new_token("req")
        delays = error["delays"]
        for attempt, delay in enumerate(delays, 1):
            delay = delay if retry_delay is None else retry_delay
            self._chain(self.written.api_error(None, error, attempt, int(delay * 1000), request))
            retry = {"attempt": attempt, "max_retries": 10, "retry_delay_ms": int(delay * 1000)}
            self.app.print(self.lines.system("api_retry", **retry, error_status=error["status"], error=error["error"]))
            self.app.pause(delay)
        if not error["recovers"]:
            self._fail(error, request)

    def _fail(self, error: Line, request: str) -> None:
        status = "" if error["status"] is None else f"{error['status']} "
        message = shapes.synthetic_message(f"API Error: {status}{error['text']}")
        uuid, at = new_id(), timestamp()
        self._chain(self.written.failed(None, message, uuid, at, request, error))
        self.app.print(self.lines.failed_assistant(message, uuid, at, request, error) | self._named())
        self.failed = True
        text = message["content"][0]["text"]
        self._result(stop_reason="stop_sequence", terminal_reason=error["terminal"], text=text, error=error)

    def _do_rate_limit(self, _: Any, resets_in: float = 60, kind: str = "five_hour") -> None:
        self.app.print(self.lines.rate_limit(int(time.time() + resets_in), kind, 1.0))
        self._fail(API_ERRORS["rate_limit_long"], new_token("req"))

    def _do_compact(self, before: int) -> None:
        self._chain(self.written.compact(self.app.past.last_uuid, before))
        meta = {"trigger": "auto", "pre_tokens": before}
        self.app.print(self.lines.system("compact_boundary", compact_metadata=meta))

    def _do_crash(self, status: int) -> None:
        if status < 0:
            os.kill(os.getpid(), -status)
        os._exit(status)

    def _do_exit(self, status: int) -> None:
        self.exit_status = status

    def _do_hang(self, _: Any) -> None:
        while True:
            time.sleep(3600)

    def _do_silence(self, _: Any) -> None:
        self.app.pause(float(1 << 30))

    def _do_ignore_term(self, _: Any) -> None:
        ignore_signals()

    def _do_grandchild(self, kind: str, seconds: float = 3600) -> None:
        import subprocess  # here, because it costs a megabyte

        quiet = None if kind == "holds-stdout" else subprocess.DEVNULL
        subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", SITTER, str(seconds)],
            stdin=subprocess.DEVNULL, stdout=quiet, stderr=subprocess.DEVNULL,
            start_new_session=kind == "own-session",
        )  # fmt: skip

    def _do_damage(self, kind: str, value: Any = 0) -> None:
        self.app.transcript.damage = (kind, value)

    def _do_transcript(self, when: Any) -> None:
        if when is False:
            self._writes = False
        else:
            self._late = float(when)

    def _do_extra_result(self, _: Any) -> None:
        """A whole turn of a background task: words and a result that answer nobody's prompt."""
        text, uuid, at, message_id = "Nobody asked for this.", new_id(), timestamp(), new_token("msg")
        block, request = {"type": "text", "text": text}, new_token("req")
        self.app.print(self.lines.assistant(message_id, block, Usage(), uuid, at, request))
        self._chain(self.written.assistant(None, message_id, block, Usage(), "end_turn", uuid, at, request, 0))
        fields: Line = {"stop_reason": "end_turn", "terminal_reason": "completed", "text": text}
        line = self.lines.result(turn=Usage(), total=self.app.total, num_turns=1, index=99, ms=1, **fields)
        self.app.print(line | {"origin": {"kind": "task-notification"}})

    def _do_print(self, text: str) -> None:
        self.app.write(1, text.encode() + b"\n")

    def _do_stderr(self, text: str) -> None:
        self.app.write(2, text.encode() + b"\n")

    def _do_flood(self, size: int, stream: str = "stderr") -> None:
        chunk = b"flood " * 10_922 + b"f\n"
        for _ in range(size // len(chunk) + 1):
            self.app.write(1 if stream == "stdout" else 2, chunk)

    def _do_memory(self, megabytes: int) -> None:
        self.app.hoard = bytearray(os.urandom(1 << 20)) * megabytes


def pieces(text: str) -> list[str]:
    """The text in chunks of about two dozen characters, cut after spaces where there are any."""
    found, start = [], 0
    while start < len(text):
        end = start + CHUNK
        space = text.rfind(" ", start, end)
        end = space + 1 if space > start and end < len(text) else end
        found.append(text[start:end])
        start = end
    return found or [""]


def ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
