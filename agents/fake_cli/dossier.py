"""Dossiers: what can be argued about a topic, as TOML files that anyone can add to.

A dossier has two sides, claims that each belong to one of them, and ways to end in agreement. Each claim can be stated
(`say`), grounded, illustrated, put as a question to the other side (`ask`), answered when the question comes back
(`answer`), conceded by the other side, and turned against claims of the other side (`attacks`). Each way to propose an
end has its own way to close.
"""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False  # importing typing would cost two megabytes a process
if TYPE_CHECKING:
    from typing import Any

FOLDER = os.path.join(os.path.dirname(__file__), "dossiers")
LENSES = "lenses"
PARTS = ("say", "ground", "example", "ask", "answer", "concede")
OTHER = {"a": "b", "b": "a"}


class Claim:
    def __init__(self, raw: dict[str, Any]) -> None:
        self.id: str = raw["id"]
        self.side: str = raw["side"]
        self.short: str = raw["short"]
        self.terms: list[str] = raw["terms"]
        self.parts: dict[str, str] = {part: raw[part] for part in PARTS}
        self.attacks: dict[str, str] = raw["attacks"]


class Act:
    """Something done with words: a part of a claim was said, perhaps against another claim."""

    def __init__(self, kind: str, claim: str = "", target: str = "", text: str = "") -> None:
        self.kind, self.claim, self.target, self.text = kind, claim, target, text


class Dossier:
    def __init__(self, raw: dict[str, Any]) -> None:
        self.title: str = raw["title"]
        self.thesis = {side: raw[side]["thesis"] for side in OTHER}
        self.stance = {side: raw[side]["name"] for side in OTHER}
        self.claims = {claim["id"]: Claim(claim) for claim in raw["claim"]}
        self.end: dict[str, list[str]] = {kind: raw["end"][kind] for kind in ("propose", "amend", "close")}
        self.open: str = raw["end"]["open"]
        self._index = [Act("thesis", side, text=text) for side, text in self.thesis.items()]
        for kind, texts in self.end.items():
            self._index += [Act(kind, text=text) for text in texts]
        for claim in self.claims.values():
            self._index += [Act(kind, claim.id, text=text) for kind, text in claim.parts.items()]
            self._index += [Act("attack", claim.id, target, text) for target, text in claim.attacks.items()]

    def recognise(self, text: str) -> list[Act]:
        """What was done in these words: our own sentences exactly, anybody else's claims by their terms."""
        found = [(place, act) for act in self._index if (place := text.find(act.text)) >= 0]
        if found:
            return [act for _, act in sorted(found, key=lambda pair: pair[0])]
        lower, scores = text.lower(), []
        for claim in self.claims.values():
            hits = sum(bool(re.search(rf"\b{re.escape(term)}", lower)) for term in claim.terms)
            if hits >= 2:
                scores.append((-hits, claim.id))
        return [Act("say", name) for _, name in sorted(scores)[:2]]


def read(text: str) -> dict[str, Any]:
    """The little TOML that dossiers use, where every value is also JSON; tomllib would cost a megabyte a process."""
    raw: dict[str, Any] = {"claim": []}
    table = raw
    for line in re.sub(r",?\n\]", "]", re.sub(r"([\[,])\n +", r"\1", text)).splitlines():
        name = line.strip("[] ")
        if not line or line.startswith("#"):
            continue
        if line == "[[claim]]":
            table = {}
            raw["claim"].append(table)
        elif line == "[claim.attacks]":
            table = raw["claim"][-1].setdefault("attacks", {})
        elif line.startswith("["):
            table = raw.setdefault(name, {})
        else:
            key, _, value = line.partition(" = ")
            table[key] = json.loads(value)
    return raw


def load(name: str, topic: str = "") -> Dossier:
    with open(os.path.join(FOLDER, f"{name}.toml"), encoding="utf-8") as file:
        text = file.read()
    topic = json.dumps(" ".join(topic.split()).rstrip(" ?.!"), ensure_ascii=False)[1:-1]
    return Dossier(read(text.replace("{topic}", topic)))


def names() -> list[str]:
    return sorted(file[:-5] for file in os.listdir(FOLDER) if file.endswith(".toml") and file[:-5] != LENSES)


def choose(topic: str) -> str:
    """The dossier that knows most about a topic, or the lenses that fit any."""
    lower, best, most = topic.lower(), LENSES, 1
    for name in names():
        with open(os.path.join(FOLDER, f"{name}.toml"), encoding="utf-8") as file:
            head = read(file.read(2000).partition("\n[")[0])
        words = [word for word in head["words"] if re.search(rf"\b{re.escape(word)}\b", lower)]
        score = len(words) + any(word in words for word in head["words"][:4])
        if score > most:
            best, most = name, score
    return best
