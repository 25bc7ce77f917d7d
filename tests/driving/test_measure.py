"""How much of what a CLI says counts: the beginning of an answer, and one word wherever it is said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from supervisor.driving.measure import CUT, LONGEST_ANSWER, LONGEST_NAME, Measure, Measures
from supervisor.records import Delta, Failure, Text, ToolUse, TurnEnd

WORD = "[END]"


def cut(*texts: str, heeded: str = WORD, most: int = 10) -> list[str]:
    measure = Measure(heeded, most)
    return [measure.cut(text) for text in texts]


def test_what_fits_is_left_as_it_is() -> None:
    assert cut("01234", "56789") == ["01234", "56789"]


def test_what_goes_beyond_it_is_cut_and_said_to_be_once() -> None:
    assert cut("0123456", "789abc", "def") == ["0123456", "789" + CUT, ""]


def test_the_word_counts_wherever_it_is_said() -> None:
    """A6."""
    assert cut("0123456789 and [END]") == ["0123456789" + CUT + WORD]
    assert cut("01234567[END]") == ["01234567[E" + CUT + WORD]
    assert cut("0123456789ab", "[END]") == ["0123456789" + CUT, WORD]
    assert cut("0123456789ab[E", "ND]") == ["0123456789" + CUT, WORD]
    assert cut("01234567[E", "ND]") == ["01234567[E", CUT + WORD]
    assert cut("[END]0123456789") == ["[END]01234" + CUT]


@given(st.lists(st.text(alphabet="[END]x", max_size=12), max_size=8))
def test_the_word_is_neither_lost_nor_made_up(texts: list[str]) -> None:
    """A6: it counts exactly where it would have counted without a measure."""
    whole, kept = "".join(texts), "".join(cut(*texts)).replace(CUT, "")
    assert (WORD in kept) == (WORD in whole)


def test_each_channel_has_a_measure_of_its_own_and_a_turn_begins_with_an_empty_one() -> None:
    measures, long = Measures(WORD), "x" * (LONGEST_ANSWER + 5)
    for record in (Text(text=long, offset=3), Text(text=long), Delta(text=long)):
        assert measures.of(record).text == "x" * LONGEST_ANSWER + CUT
        assert measures.of(record).text == ""
    assert measures.of(TurnEnd(outcome="answered", text=long)).text == "x" * LONGEST_ANSWER + CUT
    measures.begin()
    assert measures.of(Text(text="short", offset=4)) == Text(text="short", offset=4)


def test_nothing_else_is_longer_than_a_name() -> None:
    long = "x" * (LONGEST_NAME + 5)
    tool = Measures().of(ToolUse(tool=long, tool_id=long, summary=long, uuid=long))
    assert {len(tool.tool), len(tool.tool_id), len(tool.summary), len(tool.uuid)} == {LONGEST_NAME}
    assert Measures().of(Failure(kind="unknown", message=long)).message == "x" * LONGEST_NAME + CUT
