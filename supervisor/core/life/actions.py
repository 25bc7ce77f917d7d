"""What an agent may answer when it is asked what to do: one JSON object of a known shape. Anything else is a wait."""

from __future__ import annotations

import msgspec

from supervisor.events import Position

LONGEST_SPEECH = 600
LONGEST_SUBJECT = 200


class Action(msgspec.Struct, frozen=True, kw_only=True, tag_field="action"):
    """`task_done`: the current task is finished."""

    task_done: bool = False


class Wait(Action, frozen=True, kw_only=True, tag="wait"):
    reason: str = ""


class Move(Action, frozen=True, kw_only=True, tag="move"):
    """To a place by its name, to a person by theirs, or to a tile."""

    to: str | Position


class Speak(Action, frozen=True, kw_only=True, tag="speak"):
    """To some by name, or to all who can hear it."""

    text: str
    to: str | list[str] = "all"


class Collaborate(Action, frozen=True, kw_only=True, tag="collaborate", rename={"partner": "with"}):
    """Talk something over with one other."""

    partner: str
    on: str = ""


AnyAction = Wait | Move | Speak | Collaborate
_decoder = msgspec.json.Decoder(AnyAction)


class Misunderstood(ValueError):
    """An answer that is no action; says why."""


def read(answer: str) -> AnyAction:
    """The action in an answer, also where something stands around it; raises Misunderstood."""
    start, end = answer.find("{"), answer.rfind("}")
    if start < 0 or end < start:
        raise Misunderstood("there is no JSON object in the answer")
    try:
        action: AnyAction = _decoder.decode(answer[start : end + 1].encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise Misunderstood(str(wrong)[:200]) from None
    if isinstance(action, Speak) and not action.text.strip():
        raise Misunderstood("there is nothing to say")
    return action


def names_of(to: str | list[str]) -> list[str]:
    """To whom something is said; nobody in particular means all."""
    names = [to] if isinstance(to, str) else to
    return [] if any(name.lower() in ("all", "everybody", "everyone") for name in names) else names
