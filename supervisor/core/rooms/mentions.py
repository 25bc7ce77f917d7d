"""Who is addressed by name in a text: `@Name`, never a role (D6).

Any case will do. An exact name goes before a partial one, and a partial one to the first in the order that it fits.
E-mail addresses and code do not address anybody, and nobody addresses themselves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
MENTION = re.compile(r"(?<![\w@.+/-])@([^\W\d_][\w'’-]*)")
POSSESSIVE = re.compile(r"['’]s?$")


def find(text: str, people: Mapping[str, str], author: str = "") -> list[str]:
    """The ids of those who are mentioned, in their normal order; `people` are names by id, in that order."""
    words = [word.lower() for word in MENTION.findall(CODE.sub(" ", text))]
    named = {found for word in words if (found := _who(word, people)) is not None and found != author}
    return [agent for agent in people if agent in named]


def _who(word: str, people: Mapping[str, str]) -> str | None:
    for tried in dict.fromkeys((word, POSSESSIVE.sub("", word), word.rstrip("'’-"))):
        exact = next((agent for agent, name in people.items() if name.lower() == tried), None)
        if exact is not None:
            return exact
    start = POSSESSIVE.sub("", word)
    return next((agent for agent, name in people.items() if name.lower().startswith(start)), None)
