"""The transcript file of a session: where it lies, how lines get into it (also badly), and what can be read back."""

from __future__ import annotations

import json
import os
import time
import zlib

TYPE_CHECKING = False  # importing typing would cost two megabytes a process
if TYPE_CHECKING:
    from typing import Any

    from .lines import Line

JUNK = {"type": "attachment", "isSidechain": False, "attachment": {"type": "environment", "body": "x" * 200}}


def dumps(line: Line) -> bytes:
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a character from the prompt: as in JavaScript, a replacement is written
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def projects_folder() -> str:
    config = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    return os.path.join(config, "projects")


def folder_name(cwd: str) -> str:
    """The working folder's path with everything but letters and digits replaced, cut at 200 with a hash."""
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd)
    if len(name) <= 200:
        return name
    number, digits = zlib.crc32(cwd.encode()), ""
    while len(digits) < 6:
        number, digit = divmod(number, 36)
        digits += "0123456789abcdefghijklmnopqrstuvwxyz"[digit]
    return f"{name[:200]}-{digits}"


def find(session_id: str) -> str | None:
    """The transcript of a session, whichever folder it was started in."""
    root = projects_folder()
    try:
        folders = sorted(os.listdir(root))
    except OSError:
        return None
    for folder in folders:
        path = os.path.join(root, folder, f"{session_id}.jsonl")
        if os.path.isfile(path):
            return path
    return None


class Transcript:
    """An append-only file that appears with its first line; `damage` spoils the line that comes next."""

    def __init__(self, path: str, session_id: str) -> None:
        self.path = path
        self.session_id = session_id
        self.damage: tuple[str, Any] | None = None

    def append(self, *lines: Line) -> None:
        data = b""
        for line in lines:
            if self.damage is not None and line["type"] in ("assistant", "user"):
                self._write(data)
                data, (kind, value) = b"", self.damage
                self.damage = None
                self._write_damaged(kind, value, line)
            else:
                data += dumps(line) + b"\n"
        self._write(data)

    def _write(self, data: bytes) -> None:
        if not data:
            return
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        finally:
            os.close(fd)

    def _write_damaged(self, kind: str, value: Any, line: Line) -> None:
        """Write `line` whole, but with the damage around it that was seen in the field."""
        data = dumps(line)
        junk = dumps(JUNK | {"sessionId": self.session_id})
        cut = junk[: len(junk) * 2 // 3]
        if kind == "half":
            self._write(data[: len(data) // 2])
            time.sleep(float(value))
            self._write(data[len(data) // 2 :] + b"\n")
        elif kind == "torn":
            self._write(cut + b"\n" + data + b"\n")
        elif kind == "spliced":
            self._write(cut + data + b"\n")
        elif kind == "nul":
            self._write(b"\0" * 512 + data + b"\n")
        elif kind == "joined":
            self._write(junk + data + b"\n")
        elif kind == "utf8":
            self._write(junk.replace(b"xx", b"\xff\xc3", 1) + b"\n" + data + b"\n")
        elif kind == "huge":
            filler = JUNK | {"attachment": {"type": "environment", "body": "x" * int(value)}}
            self._write(dumps(filler | {"sessionId": self.session_id}) + b"\n" + data + b"\n")
        elif kind == "truncated":
            os.truncate(self.path, 0)
            self._write(data + b"\n")
        elif kind == "replaced":
            os.unlink(self.path)
            self._write(data + b"\n")


class Past:
    """What a transcript says of a session so far."""

    def __init__(self) -> None:
        self.exchanges: list[tuple[str, str]] = []
        self.letters = 0
        self.answered: set[str] = set()
        self.last_uuid: str | None = None
        self.unanswered: str | None = None
        self.turns = 0
        self.spent: tuple[int, ...] = ()
        """Tokens of all kinds, as they were counted when it last ended in good order."""

    def add(self, prompt: str, answer: str, keep: bool = True) -> None:
        if keep:
            self.exchanges.append((prompt, answer))
        self.letters += len(prompt) + len(answer)


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content if block.get("type") == "text")


def read(path: str) -> Past:
    """Rebuild a session's past, leaving out lines that cannot be read, as the real one does."""
    reader = _Reader()
    with open(path, "rb") as file:
        for raw in file:
            try:
                reader.take(json.loads(raw))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
    return reader.past


class _Reader:
    """Takes the lines of a transcript one by one."""

    def __init__(self) -> None:
        self.past = Past()
        self._prompt = ""
        self._asks: list[str] = []
        self._answer: list[str] = []
        self._tried_again = False

    def take(self, line: Line) -> None:
        kind, uuid = line["type"], line.get("uuid")
        if uuid and not line.get("isSidechain"):
            self.past.last_uuid = uuid
        if kind == "user":
            self._user(line, uuid)
        elif kind == "attachment" and "source_uuid" in line["attachment"]:
            self._asks = [*self._asks, line["attachment"]["source_uuid"]]
        elif kind == "assistant" and not line.get("isSidechain"):
            self._assistant(line)
        elif kind == "cost-state":
            kinds = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
            used = line["modelUsage"].values()
            self.past.spent = tuple(sum(int(one[name]) for one in used) for name in kinds)

    def _user(self, line: Line, uuid: Any) -> None:
        text = text_of(line["message"]["content"])
        if "turnPosition" in line:
            self._prompt, self._answer = text, []
            self._asks = line.get("mergedSendUuids") or [uuid]
            self.past.unanswered = uuid
            self.past.turns += 1
            self._tried_again = False
        elif text.startswith("[Request interrupted"):
            self._end()

    def _assistant(self, line: Line) -> None:
        message = line["message"]
        if message["model"] == "<synthetic>":
            if line.get("isApiErrorMessage"):
                self._end()
            else:
                self._tried_again = True
            return
        if self._tried_again:  # the same prompt once more, which is not written down twice, is a turn of its own
            self._tried_again = False
            self.past.turns += 1
        self._answer.append(text_of(message["content"]))
        if message["stop_reason"] == "end_turn":
            if self.past.unanswered is not None:
                self._end()
            elif self.past.exchanges:
                self.past.exchanges[-1] = (self._prompt, "".join(self._answer))

    def _end(self) -> None:
        self.past.unanswered = None
        self.past.answered.update(self._asks)
        self.past.add(self._prompt, "".join(self._answer))
