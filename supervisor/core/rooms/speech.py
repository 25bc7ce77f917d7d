"""What counts as speech: the keyword is taken out, a skip is recognised, and nothing is shown before it is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from supervisor.events import Source

SKIP = "SKIP"
REASON = "SKIP:"


class Speech(NamedTuple):
    """What an answer amounts to."""

    text: str
    """What may be shown, stored and passed on; never holds the keyword."""
    ends: bool = False
    """The keyword was said."""
    skips: bool = False
    reason: str = ""
    """Why it was skipped, where it says so."""


def read(answer: str, keyword: str) -> Speech:
    """Take an answer apart (A6, D5): the keyword is exact and case-sensitive, a skip is the whole answer."""
    ends = bool(keyword) and keyword in answer
    text = strip(answer, keyword)
    if text == SKIP:
        return Speech("", ends, skips=True)
    if text.startswith(REASON) and "\n" not in text:
        return Speech("", ends, skips=True, reason=text[len(REASON) :].strip())
    return Speech(text, ends)


def strip(text: str, keyword: str) -> str:
    """Without the keyword, also where taking one out joins the halves of another."""
    while keyword and keyword in text:
        text = text.replace(keyword, "")
    return text.strip()


class Gate:
    """Streaming text, held back for as long as it may still become the keyword, or the whole of it a skip."""

    def __init__(self, keyword: str) -> None:
        self._keyword = keyword
        self._held = ""
        self._shown = False

    def feed(self, piece: str) -> str:
        """What may be shown now."""
        self._held += piece
        while self._keyword and self._keyword in self._held:
            self._held = self._held.replace(self._keyword, "")
        if not self._shown and _may_skip(self._held.strip()):
            return ""
        keep = next((n for n in range(len(self._keyword) - 1, 0, -1) if self._held.endswith(self._keyword[:n])), 0)
        ready, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        self._shown = self._shown or bool(ready.strip())
        return ready

    def finish(self) -> str:
        """What was held back and is plain text after all."""
        rest, self._held = self._held, ""
        return "" if not self._shown and read(rest, self._keyword).skips else rest


class Blocks:
    """The text blocks of one turn: each is given out when it is certain what it is, and without the keyword.

    A keyword may be split over two blocks, and the first words may turn out to be a skip; until then they are held.
    """

    def __init__(self, keyword: str) -> None:
        self._keyword = keyword
        self._held: list[tuple[str, Source]] = []
        self._shown = False
        self.ended = False
        """The keyword was said."""

    def feed(self, text: str, source: Source) -> list[tuple[str, Source]]:
        self._held.append((text, source))
        whole = "".join(text for text, _ in self._held)
        self.ended = self.ended or (bool(self._keyword) and self._keyword in whole)
        undecided = any(whole.endswith(self._keyword[:n]) for n in range(1, len(self._keyword)))
        if undecided or (not self._shown and _may_skip(strip(whole, self._keyword))):
            return []
        return self._give()

    def finish(self) -> list[tuple[str, Source]]:
        """What is left when the turn is over; a skip is never given out."""
        whole = "".join(text for text, _ in self._held)
        if not self._shown and read(whole, self._keyword).skips:
            self._held = []
        return self._give()

    def _give(self) -> list[tuple[str, Source]]:
        held, self._held = self._held, []
        if self._keyword and self._keyword in "".join(text for text, _ in held):
            whole = "".join(text for text, _ in held)
            if any(self._keyword in text for text, _ in held):
                held = [(text.replace(self._keyword, ""), source) for text, source in held]
            else:  # it is split: what was around it becomes one block
                held = [(whole, held[-1][1])]
        clean = [(strip(text, self._keyword), source) for text, source in held]
        given = [(text, source) for text, source in clean if text]
        self._shown = self._shown or bool(given)
        return given


def _may_skip(start: str) -> bool:
    """Whether an answer that begins like this may still be a skip."""
    return SKIP.startswith(start) or (start.startswith(REASON) and "\n" not in start)
