"""What a persona does with its own time: one JSON action, when it is asked for one."""

import json
import random
import re

from .reading import Brief

PLACES = ("coffee", "window", "whiteboard", "desk")
OPENERS = (
    "Have you a minute? I am stuck on {about} and you see it from the other side.",
    "I keep coming back to {about}; what would you do first?",
    "Coffee afterwards? I want to try an idea about {about} on you.",
    "Something small about {about}: I think we have both been assuming the same wrong thing.",
    "Tell me if I am wrong about {about} before I build on it.",
    "You looked as if {about} had kept you awake as well.",
)
NEAR = re.compile(r"\b(?:Near you|Nearby)[^:\n]*: *(.+)")
NAME = re.compile(r"\b[A-Z][\w'-]*")


def decide(prompt: str, brief: Brief, chance: random.Random, earlier: list[str]) -> str:
    """Choose among move, wait, speak and collaborate, without repeating what was said before."""
    near = NEAR.search(prompt)
    names = [n for n in NAME.findall(near[1]) if n in brief.peers or not brief.peers] if near else []
    about = brief.task or brief.topic or "the plan"
    if brief.task and chance.random() < 0.15:
        return json.dumps({"action": "wait", "reason": f"finished: {brief.task}", "task_done": True})
    roll = chance.random()
    if names and roll < 0.3:
        name = chance.choice(names)
        openers = [o for o in OPENERS if not any(o.split("{")[0] in said for said in earlier)] or list(OPENERS)
        text = chance.choice(openers).replace("{about}", about)
        return json.dumps({"action": "speak", "to": [name], "text": text}, ensure_ascii=False)
    if names and roll < 0.4:
        return json.dumps({"action": "collaborate", "with": chance.choice(names), "about": about}, ensure_ascii=False)
    if roll < 0.6:
        target = chance.choice([*names, *PLACES])
        return json.dumps({"action": "move", "to": target})
    return json.dumps({"action": "wait", "reason": f"working on {about}"}, ensure_ascii=False)
