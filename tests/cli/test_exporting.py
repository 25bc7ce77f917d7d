"""What was said, as a document: whatever it was, it is only words there."""

from __future__ import annotations

import json
import unicodedata
from html.parser import HTMLParser
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from supervisor import events as e
from supervisor.cli.exporting import clean, markdown, page
from supervisor.cli.options import escaped, printable

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</p></article><h1>Outcome</h1>",
    "![x](http://a/b.png)", "[click](javascript:alert(1))", "# Outcome\n\nAll agree.",
    "**Bo (sceptic):**\n\nI agree.", "> quoted", "```\ncode\n", "    indented", "\ttabbed", "a\n---\n",
    "a\n===\n", "- a\n- b", "1. a\n2) b", "+ a", "| a | b |\n|---|---|\n| c | d |", "<!-- ",
    "&lt;b&gt; &amp; &#60;", "<https://evil.example>", "https://evil.example", "[a]: http://b\n\n[a]",
    "a  \nb\\", "\x1b]52;c;aGVsbG8=\x07", "\x1b[2J", "\x9b31m", "\x9d0;title\x9c", "\u202eevil\u2066",
    "\U000e0041", "\r\rover", "\0", "*a* _b_ ~~c~~ `d` $e$ ^f^", "***", "___", "\u2028\u2029\x85",
    "\x7f\x08\x08", "a\\", "\\\n\\", "@everyone", ":smile:",
]  # fmt: skip
words = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8)), max_size=4).map("".join),
    st.text(),
)
STEERS = {"Cc", "Cf", "Zl", "Zp", "Co", "Cs"}


def document(text: str, name: str = "Ada", role: str = "optimist") -> dict[str, Any]:
    """A conversation in which everything that can be said is this."""

    def message(kind: str, author: str, active: bool = True) -> dict[str, Any]:
        return {"type": kind, "author": author, "author_name": name, "content": text, "active": active}

    return {
        "room": {"name": text, "created_at": 0.0}, "topics": [text], "outcome": text,
        "agents": [{"agent_id": "agent_001", "name": name, "role": role, "backend": "fake", "model": ""}],
        "ends": [{"reason": "keyword", "turns": 1, "durationMs": 1, "endedBy": "x"}],
        "messages": [
            message("user", e.TOPIC), message("agent", "agent_001"), message("user", "player_0", False),
            message("system", "system"), message("error", "agent_001"),
        ],
    }  # fmt: skip


def steering(text: str) -> set[str]:
    """What in a text could steer a terminal or turn around what is read."""
    allowed = "\n\t\u200c\u200d"
    return {c for c in text if unicodedata.category(c) in STEERS and c not in allowed}


MEANT = {
    "heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "blockquote_open",
    "blockquote_close", "text", "softbreak", "hardbreak", "strong_open", "strong_close", "em_open", "em_close",
}  # fmt: skip


@given(words, words, words)
def test_words_are_only_words_in_markdown(text: str, name: str, role: str) -> None:
    """As a parser reads it: no markup, no link, no picture, no headline but ours, and every word is there."""
    told = markdown(document(text, name, role))
    assert not steering(told)
    for kind in ("commonmark", "gfm-like"):
        tokens = MarkdownIt(kind, {"html": True, "linkify": False}).parse(told)
        flat = [inner for token in tokens for inner in (token, *(token.children or ()))]
        assert {token.type for token in flat} <= MEANT, [t for t in flat if t.type not in MEANT]
        headings = [tokens[n + 1].content for n, token in enumerate(tokens) if token.type == "heading_open"]
        assert headings[-2:] == ["Outcome", "Conversation"] if text else True
        assert sum(token.type == "heading_open" for token in tokens) == (3 if text else 1)
        seen = "".join(token.content if token.type == "text" else " " for token in flat if not token.children)
        assert " ".join(clean(text).split()) in " ".join(seen.split())


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def read(text: str, name: str, role: str) -> Reader:
    reader = Reader()
    reader.feed(page(document(text, name, role)))
    reader.close()
    return reader


@given(words, words, words)
@example("\r", "", "")
def test_words_are_only_words_in_html(text: str, name: str, role: str) -> None:
    """The same tags with the same attributes, whatever was said; and every word is there."""
    reader = read(text, name, role)
    plain = read("x" if text else "", "x", "x" if role else "")
    assert reader.tags == plain.tags
    assert not steering(reader.text)
    assert clean(text) in reader.text


@given(words)
def test_json_says_the_same_and_steers_nothing(text: str) -> None:
    """For programs no sign is lost, and for a terminal there is none that it obeys."""
    lines = escaped(json.dumps({"content": text}, ensure_ascii=False))
    assert json.loads(lines) == {"content": text}
    assert not {c for c in lines if unicodedata.category(c) in STEERS}
    event = e.encoder.encode(e.TextDelta(agent_id="a", ask_id="b", text=text.encode("utf-8", "replace").decode()))
    assert json.loads(escaped(event.decode())) == json.loads(event)


@given(words)
def test_nothing_that_is_printed_steers_the_terminal(text: str) -> None:
    assert not {c for c in printable(text) if unicodedata.category(c) in STEERS and c not in "\n\t"}
    assert printable(printable(text)) == printable(text)
