"""When a turn is over: every combination of signals, without a process."""

from __future__ import annotations

from typing import Any

import pytest

from supervisor.driving.turn import Outcome, Turn
from supervisor.records import Failure, Interrupted, MessageEnd, PromptSeen, PromptTaken, Text, ToolUse, TurnEnd

ASK = "ask-1"


class Play:
    """A turn and a clock."""

    def __init__(self) -> None:
        self.turn = Turn(ASK, 0.0, settle=1.0, transcript_wait=2.0)
        self.now = 0.0

    def written(self, *records: Any) -> Play:
        for record in records:
            self.turn.from_transcript(record, self.now)
        return self

    def printed(self, *records: Any) -> Play:
        for record in records:
            self.turn.from_stdout(record, self.now)
        return self

    def after(self, seconds: float) -> Outcome | None:
        self.now += seconds
        return self.turn.poll(self.now)


SEEN = PromptSeen(ask_ids=(ASK,), uuid=ASK)
SAID = Text(text="hello", uuid="t1", message_id="m1")
END = MessageEnd(uuid="t1", message_id="m1")
TAKEN = PromptTaken(ask_ids=(ASK,), state="started")
RESULT = TurnEnd(ask_ids=(ASK,), outcome="answered", text="hello")
TOOL = ToolUse(tool="Bash", tool_id="x", summary="", uuid="t0", message_id="m0")


def ended(outcome: Outcome | None) -> tuple[str, str, str]:
    assert outcome is not None
    return outcome.status, outcome.signal, outcome.text


def test_result_and_transcript_agree() -> None:
    """E4: the ordinary case ends at once, in whichever order the two come."""
    assert ended(Play().written(SEEN, SAID, END).printed(SAID, RESULT).after(0)) == ("answered", "transcript", "hello")
    assert ended(Play().printed(SAID, RESULT).written(SEEN, SAID, END).after(0)) == ("answered", "transcript", "hello")


def test_the_transcript_is_waited_for() -> None:
    """E4: a result does not end the turn while a block it announced is not written yet."""
    second = Text(text=" world", uuid="t2", message_id="m1")
    play = Play().written(SEEN, SAID, END).printed(SAID, second, RESULT)
    assert play.after(0.5) is None
    play.written(second, MessageEnd(uuid="t2", message_id="m1"))
    assert ended(play.after(0)) == ("answered", "transcript", "hello world")


def test_a_transcript_that_keeps_silent_is_given_two_seconds() -> None:
    """E4: then what was printed counts, and the signal says so."""
    play = Play().printed(TAKEN, SAID, RESULT)
    assert play.after(1.9) is None
    assert ended(play.after(0.2)) == ("answered", "stdout", "hello")


def test_without_stdout_the_transcript_settles_it() -> None:
    """E4: after a restart there is no stdout; the end line and a moment of quiet are enough."""
    play = Play().written(SEEN, SAID, END)
    assert play.after(0.9) is None
    assert ended(play.after(0.2)) == ("answered", "transcript", "hello")


def test_a_tool_call_is_not_an_end() -> None:
    """E4: text before a tool does not end the turn, however long the tool runs."""
    play = Play().written(SEEN, SAID, TOOL)
    assert play.after(100) is None


def test_words_before_our_prompt_do_not_count() -> None:
    """E4: what another turn said is not the answer to this one."""
    play = Play().written(PromptSeen(ask_ids=("other",)), SAID, END)
    assert play.after(100) is None
    play.written(SEEN, Text(text="mine", uuid="t9", message_id="m9"), MessageEnd(message_id="m9"))
    assert ended(play.after(1)) == ("answered", "transcript", "mine")


def test_words_that_the_process_announced_are_ours_even_without_the_prompt() -> None:
    """E4, E6: a resent prompt is not written down again, and a truncated file has lost it; the message's id tells."""
    for play in (
        Play().printed(TAKEN, SAID, RESULT).written(SAID, END),
        Play().written(SAID, END).printed(TAKEN, SAID, RESULT),
    ):
        assert ended(play.after(0)) == ("answered", "transcript", "hello")
        assert not play.turn.seen


def test_a_merged_prompt_is_seen() -> None:
    """E4: prompts that the CLI merged are all answered by that turn."""
    play = Play().written(PromptSeen(ask_ids=("other", ASK)), SAID, END).printed(SAID, RESULT)
    assert ended(play.after(0))[0] == "answered"


@pytest.mark.parametrize(
    "stray",
    [
        TurnEnd(ask_ids=("other",), outcome="answered", text="hello"),
        TurnEnd(outcome="answered", text="Nobody asked.", unasked=True),
        TurnEnd(outcome="answered", text="something else"),
    ],
)
def test_a_result_for_somebody_else_is_not_ours(stray: TurnEnd) -> None:
    """E4: a second result nobody asked for ends nothing."""
    play = Play().written(SEEN).printed(SAID, stray)
    assert play.after(50) is None


def test_words_printed_before_our_prompt_was_taken_up_are_not_ours() -> None:
    """E4: a turn that was running already, or a background task's, says nothing in our name."""
    earlier = Text(text="earlier", uuid="t0", message_id="m0")
    play = Play().printed(earlier, TurnEnd(ask_ids=("other",), outcome="answered", text="earlier"))
    play.printed(TAKEN, SAID).written(SEEN, SAID, END).printed(RESULT)
    assert ended(play.after(0)) == ("answered", "transcript", "hello")


def test_words_of_a_turn_in_between_are_disowned() -> None:
    """E4: its own result names them, whichever of them came first."""
    other = Text(text="background", uuid="t0", message_id="m0")
    theirs = TurnEnd(outcome="answered", text="background", unasked=True)
    before = Play().printed(TAKEN).written(SEEN, other, MessageEnd(message_id="m0")).printed(other, theirs)
    after = Play().printed(TAKEN, other, theirs).written(SEEN, other, MessageEnd(message_id="m0"))
    for play in (before, after):
        assert play.after(5) is None
        assert ended(play.printed(SAID).written(SAID, END).printed(RESULT).after(0)) == (
            "answered",
            "transcript",
            "hello",
        )


def test_disowning_takes_one_message_and_leaves_the_end_of_ours() -> None:
    """E4: our own later message, and its end, are not undone by another turn's result."""
    other = Text(text="same", uuid="t0", message_id="m0")
    ours = Text(text="same", uuid="t1", message_id="m1")
    theirs = TurnEnd(ask_ids=("other",), outcome="answered", text="same")
    play = Play().printed(TAKEN, other, ours).written(SEEN, other, ours, MessageEnd(message_id="m1")).printed(theirs)
    outcome = play.printed(TurnEnd(ask_ids=(ASK,), outcome="answered", text="same")).after(0)
    assert ended(outcome) == ("answered", "transcript", "same")
    assert outcome is not None
    assert outcome.texts == ("same",)


@pytest.mark.parametrize("outcome", ["failed", "interrupted"])
def test_a_nameless_end_before_we_have_begun_is_not_ours(outcome: Any) -> None:
    """E4: a late result of the turn before."""
    assert Play().printed(TurnEnd(outcome=outcome)).after(50) is None


def test_lines_without_ids_claim_nothing() -> None:
    """E4: an empty id is no id."""
    play = Play().printed(TAKEN, Text(text="x")).written(Interrupted())
    assert play.after(50) is None
    play = Play().printed(TAKEN).written(SEEN).printed(Text(text="x", message_id="m")).printed(RESULT)
    play.written(Text(text="x", message_id="m"), MessageEnd(message_id="m"))
    assert ended(play.after(0)) == ("answered", "transcript", "x")
    assert play.turn.unwritten() == []


def test_what_was_printed_and_not_written_is_known() -> None:
    play = Play().printed(TAKEN, SAID, RESULT)
    assert play.turn.unwritten() == [SAID]
    play.written(SAID)
    assert play.turn.unwritten() == []


def test_a_result_without_ids_is_ours_if_it_fits() -> None:
    """E4: an error names no prompt, and an answer that repeats our text is ours."""
    assert ended(Play().written(SEEN, SAID, END).printed(SAID, TurnEnd(outcome="answered", text="hello")).after(0))
    failed = TurnEnd(outcome="failed", text="API Error")
    outcome = Play().written(SEEN, Failure(kind="overloaded", message="API Error", status=529)).printed(failed).after(0)
    assert ended(outcome) == ("failed", "transcript", "")
    assert outcome is not None
    assert outcome.failure is not None
    assert outcome.failure.kind == "overloaded"


def test_a_failure_that_only_stdout_knows() -> None:
    play = Play().printed(
        TAKEN, Failure(kind="billing", message="no credit"), TurnEnd(outcome="failed", text="no credit")
    )
    outcome = play.after(2)
    assert ended(outcome) == ("failed", "stdout", "")
    assert outcome is not None
    assert outcome.failure is not None
    assert outcome.failure.kind == "billing"


def test_an_interrupted_turn_keeps_what_was_said() -> None:
    outcome = Play().written(SEEN, SAID, Interrupted()).printed(TurnEnd(outcome="interrupted")).after(0)
    assert ended(outcome) == ("interrupted", "transcript", "hello")


def test_a_process_that_goes_without_an_answer() -> None:
    """E4: the exit is the signal, and its status is told."""
    play = Play().written(SEEN)
    play.turn.gone(7, 0.0)
    outcome = play.after(0)
    assert ended(outcome) == ("exited", "exit", "")
    assert outcome is not None
    assert "status 7" in outcome.detail
    assert outcome.seen


def test_a_process_that_goes_after_its_answer() -> None:
    """E4: what stands in the transcript counts, whatever the exit status."""
    play = Play().written(SEEN, SAID, END)
    play.turn.gone(1, 0.0)
    assert ended(play.after(0)) == ("answered", "transcript", "hello")


def test_a_prompt_that_was_answered_before() -> None:
    """E6: a CLI that knows the prompt says `completed` and nothing else; that ends the wait."""
    play = Play().printed(PromptTaken(ask_ids=(ASK,), state="completed"))
    assert play.after(1.9) is None
    assert ended(play.after(0.2)) == ("repeated", "stdout", "")


def test_texts_of_several_messages_are_kept_apart() -> None:
    """A6: blocks of one message are joined, so that a keyword split over two of them is whole."""
    before = Text(text="Let me look.", uuid="a", message_id="m0")
    parts = [Text(text=t, uuid=t, message_id="m1") for t in ("[CONVERSATION", "_END]")]
    outcome = Play().written(SEEN, before, TOOL, *parts, MessageEnd(message_id="m1")).after(1)
    assert outcome is not None
    assert outcome.texts == ("Let me look.", "[CONVERSATION_END]")


def test_next_look_is_never_later_than_the_next_answer() -> None:
    """Whoever sleeps until then misses nothing."""
    for play in (
        Play().printed(SAID, RESULT),
        Play().written(SEEN, SAID, END),
        Play().printed(PromptTaken(ask_ids=(ASK,), state="completed")),
    ):
        assert play.turn.poll(play.turn.next_look(0.0)) is not None
