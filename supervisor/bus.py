"""Publish and subscribe: frames are encoded once and kept in a ring; a subscriber is a cursor over it.

Nobody waits for anybody: publishing never blocks, and who falls out of the ring is told so and catches up elsewhere.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import trio

from supervisor.events import (
    AgentJoined,
    AgentLeft,
    AgentMoved,
    AgentSpoke,
    AnyEvent,
    TaskUpdated,
    TextDelta,
    encoder,
    subject,
)
from supervisor.events import Status as StatusFrame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Filter = Callable[["Frame"], bool]

CAPACITY = 4096
MOST_CHARACTERS = 32 << 20
"""How much text the ring holds, however few frames that are."""
BROADCASTS = (AgentSpoke, AgentMoved, AgentJoined, AgentLeft, TaskUpdated)
"""What every agent is told of the others (C8)."""


class Frame(NamedTuple):
    """An event as it goes over the wire; a transient one has no `seq`."""

    seq: int | None
    text: str
    event: AnyEvent | TextDelta | StatusFrame


class Behind(Exception):
    """The subscriber was too slow and has missed frames; `seq` is the last one it has had."""


class Subscription:
    """A cursor; holds nothing but its place."""

    def __init__(self, bus: Bus, wanted: Filter | None) -> None:
        self._bus = bus
        self.wanted = wanted
        """Which frames it takes."""
        self._place = bus.end

    def ready(self) -> list[Frame]:
        """What was published since the last call; raises Behind, and stands at the newest frame afterwards."""
        bus = self._bus
        place, self._place = self._place, bus.end
        if place < bus.begin:
            raise Behind
        new = [bus.frames[n - bus.begin] for n in range(place, bus.end)]
        return [frame for frame in new if self.wanted(frame)] if self.wanted else new

    async def receive(self) -> list[Frame]:
        """Wait for at least one frame."""
        while not (frames := self.ready()):
            await self._bus.wait()
        return frames


class Mailbox:
    """What is delivered to one subscriber, by the types it wants; the oldest is let go when nobody fetches it.

    Events of one sender come in the order in which they were published, as all do. Leaving the block unsubscribes.
    """

    def __init__(self, bus: Bus, types: tuple[type, ...], wanted: Callable[[AnyEvent], bool] | None) -> None:
        self._bus, self._types, self._wanted = bus, types, wanted
        self._events: deque[AnyEvent] = deque(maxlen=CAPACITY)
        self._news = trio.Event()
        self.missed = 0
        """How many were let go."""

    def __enter__(self) -> Mailbox:
        for kind in self._types:
            self._bus.boxes.setdefault(kind, []).append(self)
        return self

    def __exit__(self, *_: object) -> None:
        for kind in self._types:
            self._bus.boxes[kind].remove(self)

    def put(self, event: AnyEvent) -> None:
        if self._wanted is not None and not self._wanted(event):
            return
        self.missed += len(self._events) == CAPACITY
        self._events.append(event)
        self._news.set()

    async def receive(self) -> list[AnyEvent]:
        """Wait for at least one."""
        while not self._events:
            self._news = trio.Event()
            await self._news.wait()
        events = [*self._events]
        self._events.clear()
        return events


def about(*, sender: str | None = None, recipient: str | None = None) -> Callable[[Any], bool]:
    """A filter by who says or does it, and to whom; `None` means anybody."""

    def wanted(event: Any) -> bool:
        by = subject(event)[1]
        to = getattr(event, "recipients", None)
        return (sender is None or by == sender) and (recipient is None or to is None or recipient in to)

    return wanted


class Bus:
    """The ring, and the mailboxes."""

    def __init__(self, capacity: int = CAPACITY, most_characters: int = MOST_CHARACTERS) -> None:
        self.frames: deque[Frame] = deque()
        self._capacity, self._most, self._held = capacity, most_characters, 0
        self.end = 0
        self.boxes: dict[type, list[Mailbox]] = {}
        self._news = trio.Event()

    @property
    def begin(self) -> int:
        """The number of the oldest frame that is still there."""
        return self.end - len(self.frames)

    def subscribe(self, wanted: Filter | None = None) -> Subscription:
        return Subscription(self, wanted)

    def mailbox(self, types: tuple[type, ...], wanted: Callable[[Any], bool] | None = None) -> Mailbox:
        return Mailbox(self, types, wanted)

    def publish(self, events: Iterable[AnyEvent | TextDelta | StatusFrame]) -> None:
        for event in events:
            frame = Frame(getattr(event, "seq", None), encoder.encode(event).decode(), event)
            self.frames.append(frame)
            self.end += 1
            self._held += len(frame.text)
            while len(self.frames) > self._capacity or (self._held > self._most and len(self.frames) > 1):
                self._held -= len(self.frames.popleft().text)
            for box in self.boxes.get(type(event), ()):
                box.put(event)  # type: ignore[arg-type]  # nobody subscribes to what is transient
        self.wake()

    def wake(self) -> None:
        """Let everybody look, also where nothing was published."""
        news, self._news = self._news, trio.Event()
        news.set()

    async def wait(self) -> None:
        await self._news.wait()
