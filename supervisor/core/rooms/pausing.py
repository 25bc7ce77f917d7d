"""When a turn fails, or must wait: pause with a way on, and go on by itself where that is right (D13, D14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor import events as e
from supervisor.core import effects
from supervisor.core.parts import Parts
from supervisor.errors import Refused

from . import speech

if TYPE_CHECKING:
    from supervisor.core import inputs
    from supervisor.core.state import Agent, Ask, Room

LONGEST_PAUSE = 24 * 3600.0
RATE_LIMIT_SECONDS = 60.0
"""How long to wait where a rate limit does not say when it ends."""
RETRY_SECONDS = 1.0


class Pausing(Parts):
    """The part of the core that waits."""

    def _failed(
        self, room: Room, ask: Ask, why: str, reason: e.PauseReason, *, over: inputs.TurnOver | None = None,
        late: bool = False,
    ) -> None:  # fmt: skip
        """D13, D14: pause, with a way on; where nobody can press Retry, try once more and then end."""
        auto = room.auto
        assert auto is not None
        retry_at = over.retry_at if over else None
        self._complain(room, ask, why)
        agent, attempt = self.state.agents[ask.agent_id], auto.attempt
        if late:
            self._drop(ask, "failed", why, signal="watchdog")
        else:
            self._turn_ended(ask, "failed", over.signal if over else "transcript", over.ms if over else 0, why)
        if reason == "rate_limit":
            retry_at = self._limited(room, agent, retry_at)
        elif auto.unattended:
            retry_at = max(retry_at or 0.0, self.now + RETRY_SECONDS)
        if auto.unattended and attempt >= 1:
            self._end(room, "error", agent.id, why)
        else:
            self._pause(room, reason, retry_at, why, own_fault=True)

    def _limited(self, limited: Room, agent: Agent, resets_at: float | None) -> float:
        """D14: a limit is the backend's, so every room that uses it waits; each goes on by itself when it is over."""
        retry_at = max(resets_at, self.now + RETRY_SECONDS) if resets_at else self.now + RATE_LIMIT_SECONDS
        self._emit(e.RateLimited(backend=agent.backend, room_id=limited.id, retry_at=retry_at))
        for room in self._autos():
            uses = any(self.state.agents[i].backend == agent.backend for i in room.agents)
            if room is limited or not uses or room.auto is None:
                continue
            why = f"{agent.backend} is rate limited"
            if room.auto.paused is None:
                self._pause(room, "rate_limit", retry_at, why)
            elif room.auto.paused == "rate_limit" and 0 < (room.auto.retry_at or 0) < retry_at:
                self._emit(e.AutoModePaused(roomId=room.id, reason="rate_limit", retryAt=retry_at, detail=why))
        return retry_at

    def _not_limited(self, room: Room, ask: Ask) -> None:
        """Who was asked after a limit began, and has answered, shows that it is over."""
        backend = self.state.agents[ask.agent_id].backend
        if self.state.limits.get(backend, 0.0) > self.now and ask.since > self.state.limited_at.get(backend, 0.0):
            self._emit(e.RateLimited(backend=backend, room_id=room.id, retry_at=None))

    def _complain(self, room: Room, ask: Ask, why: str) -> None:
        name, told = self.state.agents[ask.agent_id].name, speech.strip(why, room.settings.keyword)
        self._say(room, "error", f"⚠️ {name} Failed to respond: {told}", ask.agent_id)

    def _pause(
        self, room: Room, reason: e.PauseReason, retry_at: float | None, detail: str, *, own_fault: bool = False
    ) -> None:
        """Whoever is still answering is interrupted; what was answered already is kept, and may be the end of it."""
        auto = room.auto
        assert auto is not None
        for ask_id in list(auto.wave):
            if self.state.asks[ask_id].answer is None:
                self._drop(self.state.asks[ask_id], "interrupted", reason)
        self._take_held(room)
        if room.auto is not auto or auto.paused is not None:  # over; or it waits already, and goes on waiting for that
            return
        detail = speech.strip(detail, room.settings.keyword)
        if room.guests and reason != "suspended":  # nobody presses Retry for two who talk something over
            self._end(room, "error", "supervisor", detail)
            return
        self._emit(e.AutoModePaused(
            roomId=room.id, reason=reason, retryAt=retry_at, detail=detail, own_fault=own_fault
        ))  # fmt: skip
        if reason != "suspended":
            self._say(room, "system", f"Conversation paused: {detail or reason}")

    def _resume(self, room: Room, *, anyway: bool = False) -> None:
        """`anyway`: somebody insists, also where a limit is not over."""
        auto = room.auto
        assert auto is not None
        if auto.paused is None:
            raise Refused("invalid_state", f"{room.name} is not paused.")
        left = auto.ends_at - auto.paused_at
        self._emit(e.AutoModeResumed(roomId=room.id, endsAt=self.now + left, attempt=auto.attempt + auto.own_fault))
        self._ask_next(room, anyway=anyway)

    def _cancel_wait(self, room: Room) -> None:
        auto = room.auto
        assert auto is not None
        if auto.retry_at is None:
            raise Refused("invalid_state", f"{room.name} is not waiting for a limit to end.")
        self._emit(
            e.AutoModePaused(roomId=room.id, reason=auto.paused or "rate_limit", detail="the wait was cancelled")
        )

    def _wake_room(self, room: Room, away: float) -> None:
        """After a start: what was suspended goes on; what was cut off is asked again, under the same id.

        The timer counts running time: as long as nobody was there, it stood still.
        """
        auto = room.auto
        assert auto is not None
        if auto.paused == "suspended":
            self._resume(room)
        elif auto.paused is None:
            latest = self.now + room.settings.max_duration_ms / 1000
            ends_at = min(auto.ends_at + away, latest)
            self._emit(e.AutoModeResumed(roomId=room.id, endsAt=ends_at, attempt=auto.attempt))
            for ask_id in auto.wave:
                if self.state.asks[ask_id].answer is None:
                    self._do(effects.AskAgain(ask_id=ask_id, agent_id=self.state.asks[ask_id].agent_id))
            if not auto.wave and auto.next_at is None:
                self._ask_next(room)
