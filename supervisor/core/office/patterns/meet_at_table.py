"""`meet-at-table`: all gather round the meeting table for as long as it lasts."""

from .base import InteractionPattern, Scene


class MeetAtTable(InteractionPattern):
    name = "meet-at-table"
    says = "all gather round the meeting table"

    def begins(self, scene: Scene) -> None:
        for member in scene.members:
            scene.meet(member)

    def turn(self, scene: Scene, speaker: str, answering: str | None) -> None:
        sits = scene.meet(speaker)  # whoever has joined meanwhile comes too
        if not sits and answering is not None:
            scene.face(speaker, answering)
