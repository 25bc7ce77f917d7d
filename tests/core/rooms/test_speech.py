"""What counts as speech."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.rooms.speech import Gate, Speech, read, strip

END = "[CONVERSATION_END]"


@pytest.mark.parametrize(
    ("answer", "speech"),
    [
        ("Hello.", Speech("Hello.")),
        (f"We agree. {END}", Speech("We agree.", ends=True)),
        (f"{END}", Speech("", ends=True)),
        (f"One {END} two {END}", Speech("One  two", ends=True)),
        ("We agree. [conversation_end]", Speech("We agree. [conversation_end]")),
        ("[CONVERSATION_EN", Speech("[CONVERSATION_EN")),
        ("SKIP", Speech("", skips=True)),
        ("  SKIP\n", Speech("", skips=True)),
        ("SKIP: not my field", Speech("", skips=True, reason="not my field")),
        ("SKIP: one\ntwo", Speech("SKIP: one\ntwo")),
        ("SKIP this", Speech("SKIP this")),
        ("skip", Speech("skip")),
        ("I would not SKIP", Speech("I would not SKIP")),
        (f"SKIP {END}", Speech("", ends=True, skips=True)),
        ("", Speech("")),
    ],
)
def test_an_answer_is_taken_apart(answer: str, speech: Speech) -> None:
    """A6, D5: exact and case-sensitive; a skip is the whole answer or one line with its reason."""
    assert read(answer, END) == speech


def test_without_a_keyword_nothing_ends() -> None:
    assert read("anything", "") == Speech("anything")


def test_a_keyword_made_of_two_halves_of_itself() -> None:
    """A6: stripping one must not leave another."""
    assert END not in strip(f"[CONVERSA{END}TION_END]", END)


def shown(pieces: list[str], keyword: str) -> tuple[list[str], str]:
    gate = Gate(keyword)
    return [gate.feed(piece) for piece in pieces], gate.finish()


def test_text_streams_as_it_comes() -> None:
    """D18: ordinary words are not delayed."""
    assert shown(["One ", "two ", "three"], END) == (["One ", "two ", "three"], "")


def test_the_keyword_never_shows_however_it_is_cut() -> None:
    """A6: piece by piece, it is held back until it is certain."""
    text = f"We agree. {END}"
    for size in range(1, len(text)):
        pieces, rest = shown([text[n : n + size] for n in range(0, len(text), size)], END)
        assert "".join(pieces) + rest == "We agree. "


def test_what_only_looked_like_the_keyword_is_shown_in_the_end() -> None:
    pieces, rest = shown(["See [CONVERSATION", " later"], END)
    assert "".join(pieces) + rest == "See [CONVERSATION later"
    assert pieces[0] == "See "
    assert shown(["open [CONV"], END) == (["open "], "[CONV")


@pytest.mark.parametrize("text", ["SKIP", "SKIP: not my field", " SKIP\n", "SKIP:\n", "SKIP: late \n\n"])
def test_a_skip_never_shows(text: str) -> None:
    """D5: not a letter of it."""
    for size in range(1, len(text) + 1):
        pieces, rest = shown([text[n : n + size] for n in range(0, len(text), size)], END)
        assert "".join(pieces) + rest == ""


def test_what_only_looked_like_a_skip_is_shown() -> None:
    for text in ("SKIPPING stones is an art.", "S", "SKIP: one\ntwo", "SK is Slovakia"):
        pieces, rest = shown(list(text), END)
        assert "".join(pieces) + rest == text


@given(st.lists(st.sampled_from(["[", "E", "ND", "]", "x", " ", "SKIP", "[END]", "\n", ":"]), max_size=14))
def test_streaming_shows_what_reading_shows(pieces: list[str]) -> None:
    """A6, D5, D18: the stream, apart from blanks at its ends, is the text; and the keyword is never in it."""
    shown_pieces, rest = shown(pieces, "[END]")
    streamed = "".join(shown_pieces) + rest
    speech = read("".join(pieces), "[END]")
    assert "[END]" not in streamed
    assert "[END]" not in speech.text
    if not speech.skips:
        assert streamed.replace(" ", "").replace("\n", "") == speech.text.replace(" ", "").replace("\n", "")
    else:
        assert streamed.strip() == ""
