"""A persona: reads its instructions, follows the argument, and chooses what to say next.

Everything it knows comes from its instructions and from what was said, so a resumed session goes on as if nothing had
happened; chance comes from the seed, its name and the number of the turn.
"""

import random
import re

from . import decisions
from .dossier import LENSES, OTHER, Claim, Dossier, choose, load
from .game import Board
from .phrases import ANY_ROLE, ROLES, VOICES
from .reading import Brief, Heard, content_words, fragment, sentences

AGREE_FROM, AGREE_BY = 7, 11
"""After how many messages a persona may, and must, look for agreement."""


class Persona:
    """One participant; `answer` is a pure function of what it remembers and the prompt."""

    def __init__(self, instructions: str, seed: str) -> None:
        self._instructions = instructions
        self._seed = seed
        self._past: list[tuple[str, str]] = []
        self._loaded: dict[str, list[Dossier]] = {}
        self.brief = Brief()
        self.brief.read(instructions)

    def remember(self, heard: str, said: str) -> None:
        self._past.append((heard, said))

    def answer(self, prompt: str) -> str:
        self._brief(prompt)
        heard = Heard(prompt, first=not self._past)
        board = self._fold(heard)
        chance = random.Random(f"{self._seed}|{self.brief.name}|{len(board.turns)}|{len(self._past)}")  # noqa: S311
        if heard.request == "decision":
            return decisions.decide(prompt, self.brief, chance, [said for _, said in self._past], heard.said)
        speaker = Speaker(self.brief, board, heard, chance)
        return speaker.summary() if heard.request == "summary" else speaker.speak()

    def _brief(self, prompt: str) -> None:
        """Read the instructions again, from the first to those of this prompt."""
        brief = Brief()
        brief.read(self._instructions)
        for number, text in enumerate([*(heard for heard, _ in self._past), prompt]):
            heard = Heard(text, first=number == 0)
            brief.read(heard.instructions)
            brief.peers.update({name: role for name, role in heard.roles.items() if name != brief.name})
            if number == 0 and not brief.topic and not heard.said:
                brief.topic = heard.instructions.strip()
        self.brief = brief

    def _fold(self, now: Heard) -> Board:
        board = Board(self._dossiers(now), self.brief.keyword)
        for number, (prompt, said) in enumerate([] if now.opens else self._past):
            heard = Heard(prompt, first=number == 0)
            if heard.opens:
                board = Board(self._dossiers(now), self.brief.keyword)
            if heard.request != "turn":
                continue
            for name, words in heard.said:
                board.hear(name, words)
            board.hear(self.brief.name, said)
        for name, words in now.said:
            board.hear(name, words)
        return board

    def _dossiers(self, now: Heard) -> list[Dossier]:
        topic = self.brief.topic or " ".join(words for _, words in now.said)
        if topic not in self._loaded:
            name = choose(topic)
            found = [load(name, topic)] if name != LENSES else []
            self._loaded[topic] = [*found, load(LENSES, topic[:120])]
        return self._loaded[topic]


class Speaker:
    """One turn of a persona, from the board to the words."""

    def __init__(self, brief: Brief, board: Board, heard: Heard, chance: random.Random) -> None:
        self.me = brief.name
        self.brief = brief
        self.board = board
        self.chance = chance
        self.addressed = heard.mentions(brief.name)
        self.others_addressed = not self.addressed and any(heard.mentions(peer) for peer in brief.peers)
        everyone = sorted({self.me, *brief.peers, *board.speakers()})
        self.voice = VOICES[everyone.index(self.me) % len(VOICES)]
        self.group = len(everyone) > 2
        self.turns = sum(speaker == self.me for speaker, _, _ in board.turns)
        self.main = board.dossiers[0]
        self.side = self._side()
        self.attack_weight, self.ask_weight, self.concede_weight, self.peace = self._weights()

    def _weights(self) -> tuple[int, int, int, int]:
        return next((w for words, w, _ in ROLES if re.search(words, self.brief.role, re.I)), ANY_ROLE)

    def _side(self) -> str:
        """One's own side if one has spoken; else the one nobody took; else what the role leans to."""
        sides: dict[str, str] = {}
        for speaker, _, acts in self.board.turns:
            taken = [a.claim if a.kind == "thesis" else self.board.claims[a.claim].side for a in acts
                     if a.kind in ("thesis", "say", "attack") and (a.kind == "thesis" or a.claim)]  # fmt: skip
            if taken and speaker not in sides:
                sides[speaker] = taken[0]
        if self.me in sides:
            return sides[self.me]
        lean = next((side for words, _, side in ROLES if side and re.search(words, self.brief.role, re.I)), "")
        if len(set(sides.values())) == 1:
            return OTHER[next(iter(sides.values()))]
        return lean or self.chance.choice("ab")

    # -- words ----------------------------------------------------------------------------------------------------

    def _part(self, claim: Claim, *parts: str) -> str:
        """The first of these parts of a claim that nobody has said yet."""
        return next((claim.parts[p] for p in parts if self.board.fresh(claim.parts[p])), "")

    def _quote(self, claim: Claim | None) -> tuple[str, str]:
        """A few words of what others said last, about this claim where there is one, and who said them."""
        heard = [turn for turn in reversed(self.board.turns) if turn[0] != self.me]
        if self.group and claim:  # with several, the one who holds the claim may not have been the last to speak
            heard.sort(key=lambda turn: not any(act.claim == claim.id and act.text for act in turn[2]))
        terms = claim.terms if claim else []
        for speaker, words, acts in heard:
            spoken = [a.text for a in acts if a.text and a.kind not in ("thesis", "close", "concede", "ask")]
            about = [a.text for a in acts if claim and a.text and a.claim == claim.id and a.kind != "ask"]
            usable = [s for s in sentences(words) if "“" not in s and "@" not in s]
            for text in [*about, *reversed(spoken), *reversed(usable)]:
                sentence = sorted(sentences(text), key=lambda s: -sum(t in s.lower() for t in terms))[0]
                quote = fragment(sentence, terms)
                if content_words(quote) and f"“{quote}”" not in self.board.text:
                    return quote, speaker
        return "", ""

    def _phrase(self, kind: str, quote: str) -> str:
        """A way of taking up these words that nobody has used yet."""
        pool = list(self.voice[kind])
        self.chance.shuffle(pool)
        unused = [p for p in pool if max(p.split("{q}"), key=len) not in self.board.text]
        phrase = (unused or pool)[0]
        return (phrase.replace(" both ", " all ") if self.group else phrase).replace("{q}", quote)

    def _take_up(self, kind: str, claim: Claim | None) -> str:
        """Begin with the other's own words, and with the name where there are several."""
        quote, speaker = self._quote(claim)
        if not quote:
            return ""
        phrase = self._phrase(kind, quote)
        if not self.group or not speaker or speaker.lower() == "user" or kind in ("propose", "confirm", "close"):
            return phrase
        if kind == "ask" and self.brief.may_mention:
            return f"@{speaker} {phrase}"
        softer = phrase if phrase.startswith(("“", "I ")) else phrase[0].lower() + phrase[1:]
        return f"{speaker}, {softer}"

    def _pivot(self) -> str:
        unused = [p for p in self.voice["pivot"] if self.board.fresh(p)]
        return self.chance.choice(unused) if unused else ""

    def _unused(self, side: str) -> list[Claim]:
        claims = [c for c in self.board.claims.values()
                  if c.side == side and c.id not in self.board.asserted and self._part(c, "say")]  # fmt: skip
        own = [c for c in claims if c.id in self.main.claims] or claims
        self.chance.shuffle(own)
        return own

    # -- the choice -----------------------------------------------------------------------------------------------

    def speak(self) -> str:
        said = [s for s in self._move() if s]
        if not said:
            return self._nothing_to_add()
        return " ".join(said)

    def _nothing_to_add(self) -> str:
        if self.brief.may_skip and not self.addressed:
            return "SKIP"
        quote, _ = self._quote(None)
        text = f"About “{quote}” I have said what I had to say." if quote else "I have nothing to add."
        return f"{text} {self.brief.keyword}".strip() if self.board.endings else text

    def _move(self) -> list[str]:
        board = self.board
        if not board.turns:
            return self._open()
        if board.proposer:
            return self._after_proposal()
        if self.group and self.others_addressed and self.turns and self.brief.may_skip:
            return []
        if not self.turns:
            return self._enter()
        if own := [board.claims[c] for c, asker in board.returned.items() if asker == self.me]:
            return self._answer(own[-1])
        count = len(board.turns) - board.last_end
        theirs = self._theirs()
        peers = [s for s in board.speakers() if s not in ("", self.me, "user")] or [""]
        conceded = board.has_conceded(self.me), any(board.has_conceded(p) for p in peers)
        wishes = count >= AGREE_FROM and all(conceded) and self.chance.random() < 0.2 + 0.15 * self.peace
        if (wishes or count >= AGREE_BY) and (proposal := self._propose()):
            return proposal
        if theirs and not conceded[0] and (self.turns >= 3 or count >= AGREE_BY - 3):
            return self._concede(theirs)
        if asked := [board.claims[c] for c, asker in board.questions.items() if asker != self.me]:
            return self._reply(asked[-1])
        return self._argue(theirs)

    def _theirs(self) -> list[Claim]:
        """What the others hold and I have not granted, the latest first."""
        found: dict[str, Claim] = {}
        for speaker, _, acts in reversed(self.board.turns):
            for act in acts:
                claim = self.board.claims.get(act.claim)
                granted = self.me in self.board.conceded.get(act.claim, [])
                if claim and speaker != self.me and act.kind in ("say", "attack", "ground") and not granted:
                    found.setdefault(claim.id, claim)
        return [c for c in found.values() if c.side != self.side] or list(found.values())

    def _argue(self, theirs: list[Claim]) -> list[str]:
        moves: list[tuple[int, list[str]]] = []
        attack = self._attack(theirs)
        if attack:
            moves.append((3 * self.attack_weight, attack))
        if defence := self._defend(theirs):
            moves.append((6, defence))
        if question := self._press(theirs):
            moves.append((2 * self.ask_weight, question))
        if len(self.board.turns) > 3 and (concession := self._concede(theirs)):
            moves.append((self.concede_weight, concession))
        if not moves:
            return self._go_on()
        return self.chance.choices([m for _, m in moves], [w for w, _ in moves])[0]

    # -- the moves ------------------------------------------------------------------------------------------------

    def _open(self) -> list[str]:
        claim = self._unused(self.side)[0]
        return [self.main.thesis[self.side], self._task(), claim.parts["say"], claim.parts["ground"]]

    def _task(self) -> str:
        """Where one is coming from, for somebody who has a task."""
        return (
            f"I am looking at it from my own work, which is to {self.brief.task.rstrip('.')}."
            if self.brief.task
            else ""
        )

    def _enter(self) -> list[str]:
        theirs = self._theirs()
        thesis = self.main.thesis[self.side]
        stance = [thesis, self._task()] if self.board.fresh(thesis) else [self._task()]
        for target in theirs:
            for claim in self._unused(self.side):
                if (hit := claim.attacks.get(target.id)) and self.board.fresh(hit):
                    return [self._take_up("attack", target), hit, *stance, claim.parts["say"]]
        mine = self._unused(self.side)
        head = self._take_up("attack" if theirs else "plain", theirs[0] if theirs else None)
        return [head, *stance, *([mine[0].parts["say"], mine[0].parts["ground"]] if mine else [])]

    def _attack(self, theirs: list[Claim]) -> list[str]:
        for target in theirs[:3]:
            for claim in self._unused(self.side):
                hit = claim.attacks.get(target.id, "")
                if hit and self.board.fresh(hit):
                    more = self._part(claim, "example") if self.chance.random() < 0.6 else self._part(claim, "ground")
                    return [self._take_up("attack", target), hit, claim.parts["say"], more]
        return []

    def _defend(self, theirs: list[Claim]) -> list[str]:
        for name, attacker in self.board.attacked.items():
            claim = self.board.claims[name]
            if self.board.asserted.get(name) == self.me and (support := self._part(claim, "example", "ground")):
                by = self.board.claims[attacker]
                ask = self._part(claim, "ask") if self.chance.random() < 0.5 else ""
                return [self._take_up("defend", by), support, ask or self._counter(by, claim)]
        return []

    def _counter(self, target: Claim, besides: Claim) -> str:
        own = [c for c in self.board.claims.values() if c.side == self.side and c is not besides]
        return next((h for c in own if (h := c.attacks.get(target.id, "")) and self.board.fresh(h)), "")

    def _press(self, theirs: list[Claim]) -> list[str]:
        """Put the question that belongs to one of my claims, best to somebody whose claim it concerns."""
        target = theirs[0] if theirs else None
        mine = [c for n, c in self.board.claims.items() if self.board.asserted.get(n) == self.me]
        self.chance.shuffle(mine)
        mine.sort(key=lambda c: not (target and (target.id in c.attacks or c.id in target.attacks)))
        for claim in mine:
            if question := self._part(claim, "ask"):
                return [self._take_up("ask", target), self._part(claim, "example", "ground"), question]
        return []

    def _reply(self, claim: Claim) -> list[str]:
        """Somebody asked: grant the point behind the question, or hand it back and put something against it."""
        grant = self._part(claim, "concede")
        if grant and self.chance.random() < self.concede_weight / (self.attack_weight + self.concede_weight):
            return self._concede([claim])
        quote = fragment(claim.parts["ask"], claim.terms)
        head = self._phrase("return", quote)
        if attack := self._attack([claim]) or self._attack(self._theirs()):
            return [head, *attack[1:3]]
        own = self._unused(self.side)
        return [head, own[0].parts["say"], own[0].parts["ground"]] if own else self._concede([claim])

    def _answer(self, claim: Claim) -> list[str]:
        """My own question came back to me."""
        head = self._phrase("answer", fragment(claim.parts["ask"], claim.terms))
        said = [head, claim.parts["answer"]]
        if (attack := self._attack(self._theirs())) and self.chance.random() < 0.6:
            return [*said, *attack[1:3]]
        own = self._unused(self.side)
        if own and self.chance.random() < 0.7:
            return [*said, self._pivot(), own[0].parts["say"]]
        return [*said, self._part(claim, "example", "ground")]

    def _concede(self, theirs: list[Claim]) -> list[str]:
        for target in theirs:
            if grant := self._part(target, "concede"):
                own = self._unused(self.side)
                rest = [self._pivot(), own[0].parts["say"], own[0].parts["ground"]] if own else []
                return [self._take_up("concede", target), grant, *rest]
        return []

    def _propose(self) -> list[str]:
        ways = [t for d in self.board.dossiers for t in d.end["propose"] if self.board.fresh(t)]
        if not ways:
            return []
        mine = [] if self.board.has_conceded(self.me) else self._concede(self._theirs())[1:2]
        best = [w for w in ways if w in self.main.end["propose"]] or ways
        return [self._take_up("propose", None), *mine, self.chance.choice(best)]

    def _after_proposal(self) -> list[str]:
        board = self.board
        if board.proposer == self.me:
            peers = {s for s in board.speakers() if s and s not in (self.me, "user")}
            if not peers <= board.confirmed:
                return []
            return [self._take_up("close", None), self._closing(), self.brief.keyword]
        if self.me in board.confirmed:
            return []
        amends = [t for d in board.dossiers for t in d.end["amend"] if board.fresh(t)]
        mine = [] if board.has_conceded(self.me) else self._concede(self._theirs())[1:2]
        return [
            self._take_up("confirm", None),
            *mine,
            self.chance.choice(amends[:2]) if amends else "Agreed.",
        ]

    def _closing(self) -> str:
        """The last word that belongs to what was proposed."""
        texts = [text for _, text, _ in self.board.turns]
        for dossier in self.board.dossiers:
            for proposal, closing in zip(dossier.end["propose"], dossier.end["close"], strict=True):
                if self.board.fresh(closing) and any(proposal in text for text in texts):
                    return closing
        return ""

    def _go_on(self) -> list[str]:
        """Nothing of theirs to answer: something new of one's own, if there is any."""
        own = self._unused(self.side)
        if not own:
            return []
        head = self._take_up("more" if self.board.endings else "plain", None)
        return [head, own[0].parts["say"], own[0].parts["ground"], own[0].parts["example"]]

    # -- the result -----------------------------------------------------------------------------------------------

    def summary(self) -> str:
        """What was agreed, what stays open, who held what."""
        board = self.board
        granted = [f"{' and '.join(dict.fromkeys(who))} granted that {board.claims[name].short}"
                   for name, who in board.conceded.items()]  # fmt: skip
        closing = next((a.text for _, _, acts in reversed(board.turns) for a in acts if a.kind == "propose"), "")
        agreed = closing if closing and (board.endings or board.confirmed) else ""
        held = []
        for speaker in [s for s in board.speakers() if s and s.lower() != "user"]:
            shorts = [board.claims[name].short for name, who in board.asserted.items() if who == speaker]
            if shorts:
                held.append(f"- {speaker}: {'; '.join(shorts[:3])}.")
        parts = [
            "Agreed: " + (agreed or "nothing was signed by everybody."),
            "Granted on the way: " + ("; ".join(granted) + "." if granted else "nothing."),
            f"Open: {self.main.open}.",
            "Who held what:\n" + ("\n".join(held) or "- nobody had taken a side yet."),
        ]
        return "\n\n".join(parts)
