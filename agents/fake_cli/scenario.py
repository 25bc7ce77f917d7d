"""Scenarios: a TOML or JSON file that says step by step what the CLI does with each prompt.

after = "echo"              # when the turns are used up: echo, repeat, persona, skip or silence

[start]                     # optional: before anything is read
crash = 1                   #   exit with this status ...
times = 2                   #   ... the first two times only

[[turn]]                    # one for each prompt, in order
speed = 40                  # characters a second
steps = [
  { think = "Hm." },
  { text = "A thought, streamed." },
  { tool = "Bash", input = { command = "ls" }, result = "main.py" },
  { text = "Done." },
]
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # importing typing would cost two megabytes a process
if TYPE_CHECKING:
    from typing import Any

STEPS: dict[str, str] = {
    "text": "a text block",
    "think": "a thinking block",
    "tool": "a tool call: with input, result, seconds, error, and permission where it may not be used unasked",
    "stop": "end the message in the middle: max_tokens or refusal; the next step goes on in a new one",
    "wait": "nothing for some seconds",
    "skip": "the answer SKIP, with the reason given or true",
    "mention": "a text block that addresses @name: with text",
    "keyword": "the termination keyword of the instructions as a text block; 2 splits it over two blocks",
    "error": "an API error by its name",
    "rate_limit": "a usage limit: with resets_in seconds",
    "compact": "the history is compacted",
    "crash": "exit at once with this status; -9 kills itself",
    "exit": "exit with this status when the turn is over",
    "hang": "stop for good, deaf to interrupts and to a closed stdin",
    "silence": "stop for good, but listen to interrupts",
    "ignore_term": "from here on ignore TERM, INT and HUP",
    "grandchild": "start a process that stays: plain, own-session or holds-stdout",
    "damage": "spoil the transcript around the next line: half, torn, spliced, nul, joined, utf8, huge, "
    "truncated or replaced; with value",
    "transcript": "false: from here on this turn writes nothing to the transcript; a number: only that many "
    "seconds after the result",
    "extra_result": "a second result that nobody asked for",
    "print": "this text on stdout, as it is",
    "stderr": "this text on stderr",
    "flood": "this many bytes on stdout or stderr: with stream",
    "memory": "hold this many megabytes",
}
EXTRAS: dict[str, set[str]] = {
    "tool": {"input", "result", "seconds", "error", "permission"},
    "mention": {"text"},
    "error": {"retry_delay"},
    "rate_limit": {"resets_in", "kind"},
    "damage": {"value"},
    "flood": {"stream"},
    "grandchild": {"seconds"},
}
NUMBER, TEXT = (int, float), str
TYPES: dict[str, type | tuple[type, ...]] = {
    "text": TEXT, "think": TEXT, "tool": TEXT, "mention": TEXT, "print": TEXT, "stderr": TEXT, "skip": (bool, str),
    "wait": NUMBER, "transcript": (bool, int, float), "keyword": int, "crash": int, "exit": int, "compact": int,
    "flood": int, "memory": int, "seconds": NUMBER, "retry_delay": NUMBER, "resets_in": NUMBER, "value": NUMBER,
    "result": TEXT, "speed": NUMBER, "input": dict, "error": (str, bool), "kind": TEXT, "stream": TEXT, "times": int,
    "permission": bool, "usage": dict, "steps": list, "say": (str, list), "turn": list, "start": dict, "after": TEXT,
}  # fmt: skip
"""What a value has to be; a step's own value and what else it takes."""
CHOICES = {"stop": ("max_tokens", "refusal"), "stream": ("stdout", "stderr"), "keyword": (1, 2, True)}
TURN_KEYS = {"steps", "speed", "usage", "say"}
USAGE_KEYS = {"input", "cached", "created", "output"}
AFTER = ("echo", "repeat", "persona", "skip", "silence")
GRANDCHILDREN = ("plain", "own-session", "holds-stdout")
DAMAGE = ("half", "torn", "spliced", "nul", "joined", "utf8", "huge", "truncated", "replaced")


class BadScenario(Exception):
    """The file cannot be used; the message says where and what was expected."""


class Step:
    def __init__(self, kind: str, value: Any, extras: dict[str, Any] | None = None) -> None:
        self.kind, self.value, self.extras = kind, value, extras or {}


class Turn:
    """What happens with one prompt."""

    def __init__(self, steps: list[Step], speed: float | None = None, usage: dict[str, int] | None = None) -> None:
        self.steps, self.speed, self.usage = steps, speed, usage or {}


class Scenario:
    def __init__(self, turns: list[Turn], after: str = "echo", start: dict[str, Any] | None = None) -> None:
        self.turns, self.after, self.start = turns, after, start or {}


def load(path: str, errors: dict[str, Any]) -> Scenario:
    """Read and check a scenario file; `errors` are the API errors it may name."""
    try:
        with open(path, "rb") as file:
            if path.endswith(".json"):
                raw = json.load(file)
            else:
                import tomllib  # here, because most runs have no scenario

                raw = tomllib.load(file)
    except OSError as error:
        raise BadScenario(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise BadScenario(f"{path}: {error}") from None
    return check(raw, path, errors)


def check(raw: Any, where: str, errors: dict[str, Any]) -> Scenario:
    _known(raw, {"turn", "after", "start"}, where)
    _known(raw.get("start", {}), {"crash", "times", "deaf", "ignore_term", "stderr", "wait"}, f"{where}: [start]")
    after = raw.get("after", "echo")
    if after not in AFTER:
        raise BadScenario(f"{where}: after is {after!r}, expected one of {', '.join(AFTER)}")
    turns = [_turn(turn, f"{where}: turn {n}", errors) for n, turn in enumerate(raw.get("turn", []), 1)]
    return Scenario(turns, after, raw.get("start"))


def _known(table: Any, keys: set[str], where: str, types: dict[str, Any] = TYPES) -> None:
    if not isinstance(table, dict):
        raise BadScenario(f"{where}: expected a table, found {table!r}")
    for key in table:
        if key not in keys:
            raise BadScenario(f"{where}: unknown key {key!r}, expected one of {', '.join(sorted(keys))}")
        kinds = types.get(key, object)
        if not isinstance(table[key], kinds):
            names = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
            raise BadScenario(f"{where}: {key} is {table[key]!r}, expected {names}")
        if key in CHOICES and table[key] not in CHOICES[key]:
            raise BadScenario(f"{where}: {key} is {table[key]!r}, expected one of {', '.join(map(str, CHOICES[key]))}")


def _turn(raw: Any, where: str, errors: dict[str, Any]) -> Turn:
    _known(raw, TURN_KEYS, where)
    _known(raw.get("usage", {}), USAGE_KEYS, f"{where}: usage", dict.fromkeys(USAGE_KEYS, int))
    say = raw.get("say", [])
    steps = [_step({"text": text}, f"{where}: say", errors) for text in ([say] if isinstance(say, str) else say)]
    for number, step in enumerate(raw.get("steps", []), 1):
        steps.append(_step(step, f"{where}: step {number}", errors))
    if not steps:
        raise BadScenario(f"{where}: nothing to do, expected say or steps")
    return Turn(steps, raw.get("speed"), raw.get("usage"))


def _step(raw: Any, where: str, errors: dict[str, Any]) -> Step:
    verbs = [key for key in raw if key in STEPS] if isinstance(raw, dict) else []
    kind = verbs[0] if verbs else None
    if kind == "mention" or (kind == "text" and "mention" in verbs):
        kind = "mention"
    elif len(verbs) != 1:
        raise BadScenario(f"{where}: expected exactly one of {', '.join(STEPS)}, found {raw!r}")
    assert kind is not None
    _known(raw, {kind} | EXTRAS.get(kind, set()), where)
    value = raw[kind]
    choices: tuple[str, ...] = {"grandchild": GRANDCHILDREN, "damage": DAMAGE, "error": tuple(errors)}.get(kind, ())
    if choices and value not in choices:
        raise BadScenario(f"{where}: {kind} is {value!r}, expected one of {', '.join(choices)}")
    return Step(kind, value, {key: raw[key] for key in raw if key != kind})
