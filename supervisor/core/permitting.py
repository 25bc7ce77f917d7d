"""When a CLI may not go on without being allowed to: somebody is asked, for a while, and silence is a no."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor import events as e
from supervisor.errors import Refused

from . import effects
from .parts import Parts
from .rooms import speech

if TYPE_CHECKING:
    from . import inputs
    from .state import Agent


class Permitting(Parts):
    """The part of the core that lets agents use what could do harm."""

    def _wants_permission(self, agent: Agent, given: inputs.PermissionWanted) -> None:
        room = self.state.rooms.get(agent.room_id or "")
        settings = room.settings if room else self.rules.settings
        permission = e.Permission(
            id=f"permission_{self.state.seq + 1}", cli_id=given.cli_id, tool=given.tool,
            summary=speech.strip(given.summary, settings.keyword), until=self.now + settings.permission_wait,
        )  # fmt: skip
        self._emit(e.PermissionAsked(
            agent_id=agent.id, room_id=agent.room_id, permission=permission,
        ))  # fmt: skip
        if room is not None and room.auto is not None and room.auto.unattended:
            self._permit(agent, permission, allowed=False, by="nobody")

    def _resolve_permission(self, permission_id: str, allow: bool) -> None:
        for agent in self.state.agents.values():
            for permission in agent.permissions:
                if permission.id == permission_id:
                    self._permit(agent, permission, allowed=allow, by=e.PERSON)
                    return
        raise Refused("invalid_state", "Nobody waits for that permission any more.")

    def _permit(self, agent: Agent, permission: e.Permission, *, allowed: bool, by: str) -> None:
        self._emit(e.PermissionResolved(agent_id=agent.id, permission_id=permission.id, allowed=allowed, by=by))
        self._do(effects.Permit(agent_id=agent.id, cli_id=permission.cli_id, allow=allowed))

    def _withdraw_permissions(self, agent: Agent, cli_id: str | None = None) -> None:
        """The CLI does not wait for them any more, or not for this one."""
        for permission in [*agent.permissions]:
            if cli_id is None or permission.cli_id == cli_id:
                self._emit(e.PermissionResolved(
                    agent_id=agent.id, permission_id=permission.id, allowed=False, by="withdrawn"
                ))  # fmt: skip

    def _permission_times(self) -> list[float]:
        return [permission.until for agent in self.state.agents.values() for permission in agent.permissions]

    def _permissions_due(self) -> None:
        for agent in self.state.agents.values():
            for permission in [*agent.permissions]:
                if self.now >= permission.until:
                    self._permit(agent, permission, allowed=False, by="timeout")
