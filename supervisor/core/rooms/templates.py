"""Rooms that are ready to use: who is in them, and by which rules they talk (D20)."""

from __future__ import annotations

from typing import Any

import msgspec


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of conversation."""

    says: str
    """What it is for, for people who choose."""
    people: tuple[tuple[str, str], ...]
    """Names and roles, in the order in which they speak."""
    settings: dict[str, Any] = {}
    """What differs from the usual settings."""


TEMPLATES: dict[str, Template] = {
    "debate": Template(
        says="two sides argue until they agree",
        people=(("Ada", "optimist"), ("Bo", "sceptic")),
        settings={"min_turns": 4, "outcome": True},
    ),
    "code-review": Template(
        says="an author defends a change before two reviewers",
        people=(("Cy", "author of the change"), ("Gus", "tester"), ("Kit", "operator")),
        settings={"max_messages": 15, "outcome": True, "interaction_pattern": "walk-to-agent"},
    ),
    "brainstorm": Template(
        says="four people collect ideas and judge none of them",
        people=(("Hana", "designer"), ("Cy", "engineer"), ("Finn", "economist"), ("Jo", "newcomer")),
        settings={"max_messages": 16, "outcome": True, "interaction_pattern": "meet-at-table"},
    ),
    "interview": Template(
        says="one asks, one answers",
        people=(("Lea", "interviewer"), ("Dee", "historian")),
        settings={"max_messages": 12, "interaction_pattern": "stay-at-desk"},
    ),
    "panel": Template(
        says="a moderator and three voices around a table",
        people=(("Lea", "moderator"), ("Ada", "optimist"), ("Bo", "sceptic"), ("Ivo", "lawyer")),
        settings={"max_messages": 20, "outcome": True, "interaction_pattern": "meet-at-table"},
    ),
}
