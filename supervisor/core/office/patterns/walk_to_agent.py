"""`walk-to-agent`: who answers walks over (B3)."""

from .base import InteractionPattern, Scene


class WalkToAgent(InteractionPattern):
    name = "walk-to-agent"
    says = "whoever answers walks over to the one they answer"

    def turn(self, scene: Scene, speaker: str, answering: str | None) -> None:
        if answering is not None:
            scene.approach(speaker, answering)
