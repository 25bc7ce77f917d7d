"""Topics that people would want to hear argued: open questions with two honest sides (A3)."""

from __future__ import annotations

import random

TOPICS: tuple[str, ...] = (
    "Should a young product be one program or a set of microservices, and what would change the answer?",
    "Should a team rewrite its legacy system from scratch or repair it in place while customers depend on it?",
    "Are static types worth their price in a large codebase, or is that effort better spent on tests?",
    "Should every change pass code review before merge, or is it better to merge first and review afterwards?",
    "How much autonomy should an AI agent have to act without approval, and who answers for what it does?",
    "Should cities close their centre to private cars, and in which order would you take the steps?",
    "Is mathematics discovered or invented, and what would count as evidence for either?",
    "Is remote work or the office the better workplace for a team that invents things?",
    "Should a programming language forbid what is dangerous or merely make it look dangerous?",
    "Is it better for a company to publish its code, or does openness mostly feed its competitors?",
    "Should software estimate its own uncertainty to its users, even where that makes it look less capable?",
    "Are deadlines what gets good work finished, or what stops it from becoming good?",
    "Should schools teach every child to program, or is it the new Latin?",
    "Is privacy something to be traded by each person freely, or a common good that nobody should be able to sell?",
    "Should a museum return what it acquired under laws that were unjust but valid at the time?",
    "Is it wiser to prepare for the likeliest future or for the worst one that can still be survived?",
    "Should elections be compulsory, as taxes are, or does freedom include the freedom not to care?",
    "Do good tools make better craftsmen, or do they hide that there are fewer of them?",
    "Should we build for a thousand years, or is it kinder to leave our descendants an empty site?",
    "Is a mistake that nobody could have known about still somebody's responsibility?",
    "Should a translation be faithful to the words or to the effect, when it cannot be both?",
    "Is boredom a defect of modern life that we should cure, or a resource that we are using up?",
    "Should nuclear power be part of the answer to a warming climate, given what it asks of the future?",
    "Can a machine be creative, or is creativity a word for what we do not yet understand in ourselves?",
    "Should a four-day week be the norm, and who would quietly pay for the fifth day?",
    "Is it better to know a painful truth that changes nothing, or to be spared it?",
)


def draw(seed: int | str) -> str:
    """A topic at random; the same seed draws the same one."""
    return random.Random(f"topic {seed}").choice(TOPICS)  # noqa: S311  a choice, not a secret
