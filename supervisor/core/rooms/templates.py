"""Rooms that are ready to use: who is in them, and by which rules they talk (D20)."""

from __future__ import annotations

from typing import Any

from supervisor.config import TemplateEntry, TemplatePerson


def _template(says: str, people: dict[str, str], **settings: Any) -> TemplateEntry:
    people_of = tuple(TemplatePerson(name=name, role=role) for name, role in people.items())
    return TemplateEntry(says=says, people=people_of, settings=settings)


TEMPLATES: dict[str, TemplateEntry] = {
    "debate": _template(
        "two sides argue until they agree",
        {"Ada": "optimist", "Bo": "sceptic"},
        min_turns=4, outcome=True,
    ),
    "code-review": _template(
        "an author defends a change before two reviewers",
        {"Cy": "author of the change", "Gus": "tester", "Kit": "operator"},
        max_messages=15, outcome=True,
    ),
    "brainstorm": _template(
        "four people collect ideas and judge none of them",
        {"Hana": "designer", "Cy": "engineer", "Finn": "economist", "Jo": "newcomer"},
        max_messages=16, outcome=True, interaction_pattern="meet-at-table",
    ),
    "interview": _template(
        "one asks, one answers",
        {"Lea": "interviewer", "Dee": "historian"},
        max_messages=12, interaction_pattern="stay-at-desk",
    ),
    "panel": _template(
        "a moderator and three voices around a table",
        {"Lea": "moderator", "Ada": "optimist", "Bo": "sceptic", "Ivo": "lawyer"},
        max_messages=20, outcome=True, interaction_pattern="meet-at-table",
    ),
}  # fmt: skip
