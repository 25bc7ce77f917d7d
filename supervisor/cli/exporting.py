"""What was said, as a document: Markdown for people, JSON for programs, JSON lines for a replay."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from supervisor import events as e
from supervisor.errors import ConfigError
from supervisor.store import store

from .options import escaped

if TYPE_CHECKING:
    from pathlib import Path

    from sqlite_utils import Database

JOINERS = "\n\t\u200c\u200d"
SIGNS = re.compile(r"[\\`*_\[\]<>#&|~]")
"""What means something in Markdown wherever it stands."""
START = re.compile(r"^(\d*)([-+=.)])")
"""What means something at the start of a line: a list, an underlined headline, a rule."""
FORMATS = ("md", "json", "jsonl", "html")


def format_of(path: Path) -> str:
    if (kind := path.suffix.lstrip(".")) not in FORMATS:
        raise ConfigError(f"{path}: expected a name that ends in .{', .'.join(FORMATS)}.")
    return kind


def check_place(path: Path) -> None:
    """Before anything begins: a conversation is too dear to find out afterwards."""
    if not path.parent.is_dir() or path.is_dir():
        raise ConfigError(f"{path} cannot be written: choose a file in a folder that exists.")


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from None


def find_room(db: Database, wanted: str) -> str:
    """A room by its id, `last`, or the name of exactly one."""
    rooms = list(db.query("SELECT id, name FROM rooms ORDER BY created_at"))
    if wanted == "last" and rooms:
        return str(rooms[-1]["id"])
    found = [row["id"] for row in rooms if wanted in (row["id"], row["name"])]
    if len(found) != 1:
        what = "There is no room" if not found else "There are several rooms called"
        raise ConfigError(f"{what} {wanted!r}: `supervisor rooms` lists them.")
    return str(found[0])


def facts(db: Database, room_id: str) -> dict[str, Any]:
    """Everything about a conversation, for any format."""
    events = list(store.told(db, room_id))
    started = [event for event in events if isinstance(event, e.AutoModeStarted)]
    ended = [event for event in events if isinstance(event, e.AutoModeEnded)]
    people = [event for event in events if isinstance(event, e.AgentJoined)]
    (row,) = db.query("SELECT * FROM rooms WHERE id = ?", (room_id,))
    return {
        "room": row,
        "topics": [event.topic for event in started],
        "agents": [
            {"agent_id": p.agent_id, "name": p.name, "role": p.role, "backend": p.cli_backend, "model": p.model}
            for p in people
        ],
        "ends": [
            {"reason": end.reason, "turns": end.turns, "durationMs": end.durationMs, "endedBy": end.endedBy}
            for end in ended
        ],
        "outcome": next(
            (event.message.content for event in reversed(events) if isinstance(event, e.RoomOutcome)), None
        ),
        "messages": store.history(db, room_id),
    }


def export(db: Database, room_id: str, kind: str) -> str:
    """A document in which words are only ever words, in whatever it is looked at."""
    if kind == "jsonl":
        return "".join(escaped(e.encoder.encode(event).decode()) + "\n" for event in store.told(db, room_id))
    found = facts(db, room_id)
    if kind == "json":
        return escaped(json.dumps(found, ensure_ascii=False, indent=2)) + "\n"
    return page(found) if kind == "html" else markdown(found)


def markdown(found: dict[str, Any]) -> str:
    """Words stand in quotations, so that none passes for a headline or for what somebody else said."""
    roles = {agent["agent_id"]: agent["role"] for agent in found["agents"]}
    title = " · ".join(dict.fromkeys(found["topics"])) or found["room"]["name"]
    day = datetime.fromtimestamp(found["room"]["created_at"], UTC)
    people = ", ".join(f"{a['name']} ({a['role']}, {a['backend']})" for a in found["agents"])
    parts = [f"# {escape(title)}", f"{day:%Y-%m-%d %H:%M} UTC. {escape(people)}."]
    if found["outcome"]:
        parts += ["## Outcome", quoted(found["outcome"]), "## Conversation"]
    for message in found["messages"]:
        text, out = message["content"], "" if message["active"] else " *(taken out)*"
        if message["type"] == "agent":
            role = escape(roles.get(message["author"], ""))
            parts.append(f"**{escape(message['author_name'])} ({role}):**{out}\n\n{quoted(text)}")
        elif message["author"] == e.TOPIC:
            parts.append(f"> {escape(text)}{out}")
        elif message["type"] == "user":
            parts.append(f"**{escape(message['author_name'])}:**{out}\n\n{quoted(text)}")
        else:
            parts.append(f"*{escape(text)}*")
    parts += [f"*Ended: {end['reason']}, after {end['turns']} turns.*" for end in found["ends"][-1:]]
    return "\n\n".join(parts) + "\n"


STYLE = """
body { font: 16px/1.6 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; color: #2d2622;
  background: #faf6ef; }
article { margin: 1.2rem 0; } article p { background: #f0e7d9; border-radius: 4px 12px 12px 12px; padding: .6rem .9rem;
  margin: .2rem 0; white-space: pre-wrap; overflow-wrap: break-word; unicode-bidi: plaintext; }
.system, .error { color: #6a5e57; font-style: italic; } .inactive p { opacity: .55; }
.outcome { border: 2px solid #94541a; border-radius: 12px; padding: .6rem 1rem; white-space: pre-wrap; }
@media (prefers-color-scheme: dark) { body { background: #1e1a18; color: #f1e9df; } article p { background: #352d29; } }
"""


def page(found: dict[str, Any]) -> str:
    """One file that can be sent to somebody: words are only ever words in it, and nothing is loaded."""
    roles = {agent["agent_id"]: agent["role"] for agent in found["agents"]}
    title = marked(" · ".join(dict.fromkeys(found["topics"])) or found["room"]["name"])
    parts = [f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>',
             f"<h1>{title}</h1>"]  # fmt: skip
    if found["outcome"]:
        parts.append(f'<h2>Outcome</h2><div class="outcome">{marked(found["outcome"])}</div><h2>Conversation</h2>')
    for message in found["messages"]:
        text, kind = marked(message["content"]), message["type"]
        if kind in ("agent", "user"):
            role = roles.get(message["author"])
            who = marked(message["author_name"] + (f" ({role})" if role else ""))
            faded = "" if message["active"] else " inactive"
            parts.append(f'<article class="{kind}{faded}"><strong>{who}</strong><p>{text}</p></article>')
        else:
            parts.append(f'<div class="{kind}">{text}</div>')
    parts += [f"<p>Ended: {end['reason']}, after {end['turns']} turns.</p>" for end in found["ends"][-1:]]
    return "\n".join(parts) + "\n</html>\n"


def marked(text: str) -> str:
    """Text that stays text in HTML."""
    return html.escape(clean(text))


def escape(text: str) -> str:
    """Text that stays text in a line of Markdown."""
    line = " ".join(clean(text).split())
    return START.sub(r"\1\\\2", SIGNS.sub(r"\\\g<0>", line))


def quoted(text: str) -> str:
    """Words of several lines, each of which stays a line of words."""
    lines = [escape(line) for line in clean(text).split("\n")]
    ends = ["\\" if line and after else "" for line, after in zip(lines, [*lines[1:], ""], strict=True)]
    return "\n".join(f"> {line}{end}" for line, end in zip(lines, ends, strict=True))


def clean(text: str) -> str:
    """Without what steers a terminal, or turns the order of what is read around; joined letters and emoji stay."""
    return "".join(c for c in text.replace("\r\n", "\n") if c in JOINERS or c.isprintable())
