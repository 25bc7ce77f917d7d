"""`stay-at-desk`: they turn to each other at their own desks."""

from .base import InteractionPattern, Scene


class StayAtDesk(InteractionPattern):
    name = "stay-at-desk"
    says = "everybody stays at their desk and turns to the speaker"

    def turn(self, scene: Scene, speaker: str, answering: str | None) -> None:
        if answering is not None:
            scene.face(speaker, answering)
            scene.face(answering, speaker)
