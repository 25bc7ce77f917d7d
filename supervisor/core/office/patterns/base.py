"""What an interaction pattern is, and what it may ask of people.

A new one is a new file here and a line in `__init__.py`. It is told when a conversation begins and whenever it becomes
somebody's turn; when it ends, everybody goes back to their seats without being told.
"""

from __future__ import annotations

from typing import Protocol


class Scene(Protocol):
    """The people of one conversation. Each call is a wish: where no way leads, they stay and talk all the same."""

    @property
    def members(self) -> list[str]: ...
    def approach(self, who: str, whom: str) -> bool:
        """Walk to a free tile beside somebody and face them, who stay and turn to the one who comes."""

    def face(self, who: str, whom: str) -> None:
        """Turn to somebody, wherever both are."""

    def meet(self, who: str) -> bool:
        """Take a place at the meeting table, or stay at the one it has; False where there is none."""


class InteractionPattern:
    """How people meet while they talk. This one does nothing."""

    name: str
    says: str
    """What it does, for people who choose."""

    def begins(self, scene: Scene) -> None:
        """The conversation begins."""

    def turn(self, scene: Scene, speaker: str, answering: str | None) -> None:
        """It is somebody's turn; `answering` is whose words it has, None for the topic or a person's."""
