"""What counts as an action."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.life.actions import Collaborate, Misunderstood, Move, Speak, Wait, names_of, read
from supervisor.events import Position


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ('{"action": "wait"}', Wait()),
        ('{"action": "wait", "reason": "busy", "mood": "fine"}', Wait(reason="busy")),
        ('Sure:\n```json\n{"action": "move", "to": "coffee machine"}\n```', Move(to="coffee machine")),
        ('{"action": "move", "to": {"x": 3, "y": 4}}', Move(to=Position(3, 4))),
        ('{"action": "speak", "to": ["Bo"], "text": "Hi"}', Speak(to=["Bo"], text="Hi")),
        ('{"action": "speak", "text": "Hi"}', Speak(text="Hi")),
        ('{"action": "collaborate", "with": "Bo", "on": "x"}', Collaborate(partner="Bo", on="x")),
        ('{"action": "wait", "task_done": true}', Wait(task_done=True)),
    ],
)
def test_an_action_is_found_also_where_something_stands_around_it(answer: str, action: object) -> None:
    """C6."""
    assert read(answer) == action


@pytest.mark.parametrize(
    "answer",
    ["", "I think I will wait.", "{}", '{"action": "dance"}', '{"action": "move"}', '{"action": "speak", "text": " "}',
     '{"action": "speak", "text": 5}', '{"action": "move", "to": {"x": "a"}}', "}{", '{"action": "wait"', "{" * 5000],
)  # fmt: skip
def test_anything_else_is_misunderstood(answer: str) -> None:
    with pytest.raises(Misunderstood):
        read(answer)


@given(st.text())
def test_no_answer_can_break_it(answer: str) -> None:
    with contextlib.suppress(Misunderstood):
        read(answer)


def test_all_is_nobody_in_particular() -> None:
    assert names_of("all") == names_of(["Bo", "everybody"]) == []
    assert names_of("Bo") == names_of(["Bo"]) == ["Bo"]
