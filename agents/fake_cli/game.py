"""The board of the dialogue game: what was asserted, attacked, asked, conceded and proposed, and by whom."""

import re

from .dossier import Act, Dossier
from .phrases import VOICES

QUOTE = re.compile("“([^”]+)”")
CONFIRMS = [max(phrase.split("{q}"), key=len) for voice in VOICES for phrase in voice["confirm"]]


class Board:
    """A fold over everything said so far; the same words always lead to the same board."""

    def __init__(self, dossiers: list[Dossier], keyword: str) -> None:
        self.dossiers = dossiers
        self.keyword = keyword
        self.claims = {name: claim for d in reversed(dossiers) for name, claim in d.claims.items()}
        self.turns: list[tuple[str, str, list[Act]]] = []
        self.text = ""
        self.asserted: dict[str, str] = {}
        self.conceded: dict[str, list[str]] = {}
        self.questions: dict[str, str] = {}  # asked by the holder of a claim, not yet taken up by anybody else
        self.returned: dict[str, str] = {}  # handed back to the one who asked
        self.attacked: dict[str, str] = {}
        self.proposer = ""
        self.confirmed: set[str] = set()
        self.endings = 0
        self.last_end = 0

    def hear(self, speaker: str, words: str) -> None:
        acts: list[Act] = []
        for dossier in self.dossiers:
            found = dossier.recognise(words)
            exact = [act for act in found if act.text]
            acts += exact or ([] if acts else found)
        self.turns.append((speaker, words, acts))
        self.text += words + "\n"
        for claim in [name for name, holder in self.asserted.items() if holder == speaker]:
            self.attacked.pop(claim, None)
        self._take_up_questions(speaker, words)
        for act in acts:
            self._apply(speaker, act)
        if self.proposer not in ("", speaker) and any(phrase in words for phrase in CONFIRMS):
            self.confirmed.add(speaker)

    def _take_up_questions(self, speaker: str, words: str) -> None:
        """Whoever speaks next takes up an open question: quoting it hands it back, anything else lets it go."""
        quotes = QUOTE.findall(words)
        for claim in [claim for claim, asker in self.questions.items() if asker != speaker]:
            asker, asked = self.questions.pop(claim), self.claims[claim].parts["ask"]
            if any(quote in asked for quote in quotes):
                self.returned[claim] = asker

    def _apply(self, speaker: str, act: Act) -> None:
        if act.kind in ("say", "ground", "example", "attack"):
            self.asserted.setdefault(act.claim, speaker)
        if act.kind == "attack":
            self.attacked[act.target] = act.claim
        elif act.kind == "ask":
            self.questions[act.claim] = speaker
        elif act.kind == "answer":
            self.returned.pop(act.claim, None)
        elif act.kind == "concede":
            self.returned.pop(act.claim, None)
            self.conceded.setdefault(act.claim, []).append(speaker)
        elif act.kind == "propose":
            self.proposer, self.confirmed = speaker, set()
        elif act.kind == "amend":
            self.confirmed.add(speaker)
        elif act.kind == "close":
            self.proposer, self.confirmed = "", set()
            self.endings += 1
            self.last_end = len(self.turns)

    def has_conceded(self, speaker: str) -> bool:
        return any(speaker in who for who in self.conceded.values())

    def speakers(self) -> list[str]:
        return list(dict.fromkeys(speaker for speaker, _, _ in self.turns))

    def fresh(self, text: str) -> bool:
        """Whether nobody has said this yet."""
        return text not in self.text
