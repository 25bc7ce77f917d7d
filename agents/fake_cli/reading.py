"""What the instructions and the prompts say: who one is, to whom one talks, what is wanted, and who said which words.

Words of others stand between marked tags, `<said-7f3a by="Bo" role="sceptic">…</said-7f3a>`, and are only ever words:
instructions are read from what stands outside of them. A prompt without tags is taken as the other side's words, the
very first one as the topic.
"""

import re

TAGGED = re.compile(r'<(said-\w+) by="([^"]*)"(?: role="([^"]*)")?[^>]*>\n?(.*?)\n?</\1>', re.DOTALL)
NAME = re.compile(r"\b[Yy]ou are (?:called )?([A-Z][\w'-]*)(?:(?:,? in the role of|,| \|) (?:the |an? )?([\w' -]+))?")
ROLE = re.compile(r"\b[Yy]our role(?: is|:) (?:the |an? )?([\w' -]+)")
PEER = re.compile(r"\b([A-Z][\w'-]*) \(([^()\n]+)\)")
QUOTED = re.compile(r"[`\"“']([^`\"”'\n]{3,60})[`\"”']|(\[[A-Z][A-Z0-9_ -]*\])")
TOPIC = re.compile(r"^\s*(?:The )?[Tt]opic(?: is)?: *(.+)$", re.MULTILINE)
TASK = re.compile(r"\b[Yy]our (?:current )?task(?: is)?: *(.+)$", re.MULTILINE)
SUMMARY = re.compile(r"\b(summar(?:y|i[sz]e)|what was agreed|the (?:result|outcome) of (?:the|this|your))\b", re.I)
MENTION = re.compile(r"(?<![\w@.])@([A-Z]\w*)", re.I)
WORD = re.compile(r"[^\W\d_][\w’'-]*")
COMMON = frozenset(
    """
    about above after again against almost along already also although always among another anybody
    anyone anything around because been before being below between both called cannot could does doing
    done down during each either else even ever every everybody everyone everything first from gets give
    gives goes going have having here however into itself just keep knows less like made make makes many
    mean means merely might more most much must myself need needs neither never next nobody none nothing
    often only other others otherwise ours over perhaps quite rather really same say says seem seen
    several shall should since some somebody someone something still such take than that their them
    themselves then there therefore these they thing things this those though through today together
    under until upon very want wants well were what whatever when where whether which while whole whom
    whose will with within without would your yours yourself
    """.split()
)

LEADING = frozenset(
    """
    and but or so then yet for because while still
    """.split()
)
LONGEST = 15
"""How many words may be quoted at once."""
BREAKS = frozenset(
    """
    and but or that which who when where because until to for in of at by with than as if
    """.split()
)


class Brief:
    """What the instructions so far amount to."""

    def __init__(self) -> None:
        self.name = ""
        self.role = ""
        self.peers: dict[str, str] = {}
        self.keyword = ""
        self.topic = ""
        self.task = ""
        self.may_skip = False
        self.may_mention = False

    def read(self, text: str) -> None:
        """Take in instructions; what they do not mention stays as it was."""
        if found := NAME.search(text):
            self.name = found[1]
            self.role = (found[2] or "").strip() or self.role
        if found := ROLE.search(text):
            self.role = found[1].strip()
        for name, role in PEER.findall(text):
            if name != self.name:
                self.peers[name] = role
        for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
            if re.search(r"keyword|end(?:s|ing)? the conversation|conclude", sentence, re.I):
                for quoted, bare in QUOTED.findall(sentence):
                    if (quoted or bare) != "SKIP":
                        self.keyword = quoted or bare
        if found := TOPIC.search(text):
            self.topic = found[1].strip()
        if found := TASK.search(text):
            self.task = found[1].strip()
        self.may_skip = self.may_skip or bool(re.search(r'[`"“]SKIP[`"”]', text))
        self.may_mention = self.may_mention or bool(re.search(r"@(?:Name|name|[A-Z]\w+)", text))


class Heard:
    """One prompt taken apart."""

    def __init__(self, prompt: str, first: bool) -> None:
        self.said = [(name, words) for _, name, _, words in TAGGED.findall(prompt)]
        self.roles = {name: role for _, name, role, _ in TAGGED.findall(prompt) if role}
        asked = TAGGED.sub("", prompt)
        self.opens = bool(TOPIC.search(asked))
        """A topic is set, so an argument begins here."""
        first = first or self.opens
        self.instructions = asked if self.said or first else ""
        self.request = "turn"
        if "JSON" in asked and '"action"' in asked:
            self.request = "decision"
        elif SUMMARY.search(asked):
            self.request = "summary"
        elif not self.said and not first:
            self.said = [("", prompt)]

    def mentions(self, name: str) -> bool:
        return any(m.lower() == name.lower() for _, words in self.said for m in MENTION.findall(words))


def content_words(text: str) -> list[str]:
    """The words that carry the meaning, in order, in small letters."""
    words = (word.lower() for word in WORD.findall(text))
    return [word for word in words if len(word) > 3 and word not in COMMON]


def sentences(text: str) -> list[str]:
    return [s for s in re.split(r"(?<=[.!?])\s+", text.strip()) if s]


def fragment(sentence: str, terms: list[str]) -> str:
    """A few consecutive words of a sentence that can be quoted back: a clause of it, near what it is about."""
    clauses = [c.strip() for c in re.split(r"[,;:.?!—“”]", sentence) if c.strip()]

    def rank(clause: str) -> tuple[int, bool, bool, int]:
        hits = sum(term in clause.lower() for term in terms)
        return -hits, len(content_words(clause)) < 3, not 3 <= len(clause.split()) <= LONGEST, -len(clause)

    ranked = sorted(clauses, key=rank)
    words = (ranked[0] if ranked else sentence).split()
    while len(words) > 3 and words[0].lower() in LEADING:
        words = words[1:]
    if len(words) > LONGEST:
        breaks = [n for n in range(7, LONGEST) if words[n].lower() in BREAKS]
        words = words[: breaks[-1] if breaks else LONGEST - 4]
        while len(words) > 6 and (len(words[-1]) < 4 or words[-1].lower() in COMMON):
            words = words[:-1]
    return " ".join(words)
