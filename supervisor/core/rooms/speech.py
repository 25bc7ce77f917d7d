"""What counts as speech: the keyword is taken out, a skip is recognised, and nothing is shown before it is certain."""

from __future__ import annotations

from typing import NamedTuple

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
        if not self._shown and self._may_skip():
            return ""
        keep = next((n for n in range(len(self._keyword) - 1, 0, -1) if self._held.endswith(self._keyword[:n])), 0)
        ready, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        self._shown = self._shown or bool(ready.strip())
        return ready

    def finish(self) -> str:
        """What was held back and is plain text after all."""
        rest, self._held = self._held, ""
        return "" if not self._shown and read(rest, self._keyword).skips else rest

    def _may_skip(self) -> bool:
        start = self._held.strip()
        return SKIP.startswith(start) or (start.startswith(REASON) and "\n" not in start)
