"""Who is addressed (D6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.rooms import mentions

PEOPLE = {"a": "Alice", "b": "Bob", "c": "Charlie", "d": "Charlotte", "e": "Al"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@Charlie what do you think?", ["c"]),
        ("@charlie and @ALICE", ["a", "c"]),
        ("@Bob, @Bob and @bob", ["b"]),
        ("@Char?", ["c"]),
        ("@Charlo!", ["d"]),
        ("@Al is exact", ["e"]),
        ("@Ali is partial", ["a"]),
        ("what is @Alice's view", ["a"]),
        ("(@Bob) “@Alice”", ["a", "b"]),
        ("write to bob@alice.example or x.y@bob", []),
        ("run `@Bob` now", []),
        ("```\n@Alice = decorator\n```\n@Bob", ["b"]),
        ("```\n@Alice is never closed", []),
        ("@@Bob", []),
        ("Bob and Alice", []),
        ("@sceptic", []),
        ("@", []),
        ("@Zoe", []),
    ],
)
def test_who_is_mentioned(text: str, found: list[str]) -> None:
    """D6: any case, exact before partial, partial to the first, not in addresses or code, in normal order."""
    assert mentions.find(text, PEOPLE) == found


def test_nobody_mentions_themselves() -> None:
    assert mentions.find("@Alice @Bob", PEOPLE, author="a") == ["b"]


@given(st.text(alphabet="@AliceBob `\n.'-x", max_size=60))
def test_any_text_will_do(text: str) -> None:
    found = mentions.find(text, PEOPLE)
    assert found == [agent for agent in PEOPLE if agent in found]
