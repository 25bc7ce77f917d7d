"""What a persona does with its own time: one JSON action, when it is asked for one.

Small talk goes by stages: whoever is spoken to finds the line it heard, answers with one of the next stage, and lets it
be when nothing is left to say.
"""

import json
import random
import re

from .reading import Brief
from .small_talk import TALKS

NEAR = re.compile(r"^Near you: (.+)$", re.MULTILINE)
FAR = re.compile(r"^Elsewhere: (.+)$", re.MULTILINE)
PLACES = re.compile(r"^Places: (.+)$", re.MULTILINE)
SPOKE = re.compile(r"^(\w[\w'-]*) has just said something to you", re.MULTILINE)
SOMEBODY = re.compile(r"([\w'-]+) \([^()]*\) is (idle)\b")
BREAKS = ("coffee machine", "water cooler", "vending machine")
SUBJECTS = (
    "which of our tests we would miss least", "how to say no to a feature without losing a friend",
    "what a newcomer should read first", "whether the nightly job still earns its keep",
    "how we would know that the rewrite is done", "a name for the thing that everybody calls the thing",
    "what to do with a bug that only shows on Mondays", "which alarm we would turn off today",
)  # fmt: skip
STUCK = (
    "I am stuck on this: {task}. Where would you begin?",
    "Could I think aloud for a minute? It is about this: {task}.",
    "You have done something like it before: {task}. What went wrong first?",
)
ADVICE = (
    "Begin with the part you would be ashamed to leave out, and stop there for today.",
    "Write down what done looks like, and half of it will turn out to be unnecessary.",
    "Do the boring half first; the interesting half gets smaller by itself.",
    "Show it to somebody while it is still ugly. I volunteer.",
)
THANKS = (
    "That helps. I will try it before I have time to doubt it.",
    "Good, I can start with that.",
    "I was afraid you would say that. Thank you.",
)


def decide(prompt: str, brief: Brief, chance: random.Random, earlier: list[str], said: list[tuple[str, str]]) -> str:
    """Choose among move, wait, speak and collaborate, without repeating what was said before."""
    near, far = _idle(NEAR, prompt), _idle(FAR, prompt)
    found = PLACES.search(prompt)
    places = [place.strip() for place in found[1].split(",")] if found else []
    task = brief.task if "Your task:" in prompt else ""
    if spoke := SPOKE.search(prompt):
        return _reply(spoke[1], said, chance, earlier)
    decided = sum('"action"' in one for one in earlier[-40:])
    if task and decided > 4 and chance.random() < 0.12:
        return _action("wait", reason="that was the last of it", task_done=True)
    roll = chance.random()
    if roll < 0.36 or not (near or far or places):
        return _action("wait", reason=f"at work on {task}" if task else "at work")
    if roll < 0.54 and places:
        breaks = [p for p in places if p in BREAKS]
        return _action("move", to=chance.choice(breaks if breaks and chance.random() < 0.6 else places))
    if roll < 0.9 and (near or far):
        name = chance.choice(near or far) if chance.random() < 0.6 else chance.choice([*near, *far])
        text = _opener(task, chance, earlier, said)
        return _action("speak", to=[name], text=text) if text else _action("move", to=name)
    if near or far:
        subject = task or chance.choice(SUBJECTS)
        return _action("collaborate", on=subject, **{"with": chance.choice([*near, *far])})
    return _action("move", to="desk")


def _action(name: str, **fields: object) -> str:
    return json.dumps({"action": name, **fields}, ensure_ascii=False)


def _idle(pattern: re.Pattern[str], prompt: str) -> list[str]:
    """Those who have nothing to do just now."""
    found = pattern.search(prompt)
    return [name for name, _ in SOMEBODY.findall(found[1])] if found else []


def _opener(task: str, chance: random.Random, earlier: list[str], said: list[tuple[str, str]]) -> str:
    known = " ".join([*earlier, *(words for _, words in said)])
    if task and chance.random() < 0.5:
        fresh = [line for line in STUCK if line.split("{")[0] not in known]
        if fresh:
            return chance.choice(fresh).replace("{task}", task.rstrip("."))
    talks = [talk for talk in TALKS if not any(line in known for line in talk[0])]
    return chance.choice(chance.choice(talks)[0]) if talks else ""


def _reply(name: str, said: list[tuple[str, str]], chance: random.Random, earlier: list[str]) -> str:
    """The next stage of what was heard; nothing, where that was the last word."""
    words = next((words for who, words in reversed(said) if who == name), "")
    known = " ".join(earlier)
    for stages in TALKS:
        for number, lines in enumerate(stages):
            if any(line in words for line in lines):
                after = [line for line in (stages[number + 1] if number + 1 < len(stages) else ()) if line not in known]
                if after:
                    return _action("speak", to=[name], text=chance.choice(after))
                return _action("move", to="desk") if chance.random() < 0.5 else _action("wait", reason="back to work")
    if any(line.split("{")[0] in words for line in STUCK):
        return _action("speak", to=[name], text=chance.choice(ADVICE))
    if words in ADVICE:
        return _action("speak", to=[name], text=chance.choice(THANKS))
    return _action("wait", reason="that was said")
