"""The pool of topics."""

from __future__ import annotations

from fake_cli import dossier
from supervisor.core.rooms.topics import TOPICS, draw


def test_there_are_enough_and_they_are_open() -> None:
    """A3: at least 24, all different, each a question that cannot be answered with one word."""
    assert len(TOPICS) >= 24
    assert len(set(TOPICS)) == len(TOPICS)
    assert all(topic.endswith("?") and len(topic.split()) >= 10 for topic in TOPICS)


def test_a_seed_repeats_the_draw() -> None:
    """A3: and different seeds reach most of the pool."""
    assert draw(7) == draw(7)
    assert len({draw(seed) for seed in range(400)}) == len(TOPICS)


def test_eight_of_them_have_a_dossier() -> None:
    """The fake CLI knows more than generalities about these."""
    chosen = [dossier.choose(topic) for topic in TOPICS]
    assert set(chosen) - {dossier.LENSES} == set(dossier.names())
