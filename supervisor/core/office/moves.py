"""Who walks where: coming in, meeting, stretching one's legs, going back, leaving. Walking never delays talking.

A walk is one event with its whole path, its start and its pace; where somebody is at a moment follows from it, for us
as for every viewer. Where each walk ends is kept free for it, so no two rest on one tile. Whoever stands is walked
around where there is a way, and passed by where there is none, so nobody is stuck for ever.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from supervisor import events as e
from supervisor.core import agents
from supervisor.core.parts import Parts
from supervisor.errors import Refused

from . import characters
from .patterns import PATTERNS
from .plan import Place, Plan, plan_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from supervisor.core.state import Agent, Room

ENTER_EVERY = 0.8
"""Seconds between two who come through the door."""
STAYS = (6.0, 14.0)
"""How long somebody stays where the stroll led to, in seconds."""


class Moves(Parts):
    """The part of the core that moves people."""

    @property
    def plan(self) -> Plan:
        return plan_of(self.state.plan or self.rules.plan)

    def position(self, agent: Agent) -> e.Position:
        """Where somebody is right now."""
        return characters.tile_at(agent, self.now)

    # -- furnishing -----------------------------------------------------------------------------------------------

    def _furnish(self) -> None:
        """The plan is an event like any other; after a change everybody is at a place of the new one."""
        if self.state.plan == self.rules.plan:
            return
        homes = range(len(plan_of(self.rules.plan).homes))
        places = dict(zip(self.state.agents, homes, strict=False))
        self._emit(e.OfficeFurnished(plan=self.rules.plan, seats=places))

    # -- finding room ---------------------------------------------------------------------------------------------

    def _home(self, agent: Agent) -> Place:
        return self.plan.homes[agent.seat]

    def _tile(self, position: e.Position) -> int:
        return self.plan.tile(position.x, position.y)

    def _taken(self, but: Agent | None = None) -> set[int]:
        """Where others rest, or will."""
        return {self._tile(agent.position) for agent in self.state.agents.values() if agent is not but}

    def _kept(self, but: Agent | None = None) -> set[int]:
        """What belongs to others: where they rest, and their own places."""
        others = (agent for agent in self.state.agents.values() if agent is not but)
        return self._taken(but) | {self._home(agent).tile for agent in others}

    def _free_seat(self) -> int | None:
        """The place nearest to the door that nobody has, and nobody stands on."""
        had = {agent.seat for agent in self.state.agents.values()}
        taken = self._taken()
        homes = self.plan.homes
        return next((n for n, place in enumerate(homes) if n not in had and place.tile not in taken), None)

    # -- walking --------------------------------------------------------------------------------------------------

    def _walk(
        self, agent: Agent, places: Collection[Place], reason: e.MoveReason, *, starts_at: float | None = None
    ) -> bool:
        """Go to the nearest of these places that is free; False where no way leads to any."""
        plan, kept = self.plan, self._kept(agent)
        goals = {place.tile: place.facing for place in places if place.tile not in kept}
        if self._tile(agent.position) in goals:  # there already, or on the way
            self._turn(agent, goals[self._tile(agent.position)], reason)
            return True
        behind, started = self._under_way(agent)
        start = self._tile(behind[-1])
        way = plan.path(start, goals, self._taken(agent)) or plan.path(start, goals)
        if way is None:
            return False
        path = [*behind[:-1], *(plan.position(tile) for tile in way)]
        self._moved(agent, path, starts_at or started, goals[way[-1]], reason)
        self._make_way(agent)
        return True

    def _under_way(self, agent: Agent) -> tuple[list[e.Position], float]:
        """The tile it is on and, between two, the one it steps to; and when that step began."""
        if not characters.walks(agent, self.now):
            return [agent.position], self.now
        step = characters.step_at(agent, self.now)
        begun = agent.walk_started + step * agent.ms_per_tile / 1000
        between = 2 if self.now > begun else 1
        return agent.path[step : step + between], max(begun, agent.walk_started)

    def _make_way(self, newcomer: Agent) -> None:
        """Whoever was going to cross the tile that is taken now finds another way, if there is one."""
        for agent in self.state.agents.values():
            if agent is newcomer or not characters.walks(agent, self.now):
                continue
            step = characters.step_at(agent, self.now)
            if newcomer.position in agent.path[step + 2 : -1]:
                behind, started = self._under_way(agent)
                goal = self._tile(agent.position)
                way = self.plan.path(self._tile(behind[-1]), [goal], self._taken(agent))
                if way is not None:
                    path = [*behind[:-1], *(self.plan.position(tile) for tile in way)]
                    self._moved(agent, path, started, agent.facing, agent.errand)

    def _turn(self, agent: Agent, facing: e.Facing, reason: e.MoveReason = "turns") -> None:
        if facing == agent.facing:
            return
        walking = characters.walks(agent, self.now)
        path = list(agent.path) if walking else [agent.position]
        self._moved(agent, path, agent.walk_started if walking else self.now, facing, reason)

    def _moved(
        self, agent: Agent, path: list[e.Position], started: float, facing: e.Facing, reason: e.MoveReason
    ) -> None:
        self._emit(e.AgentMoved(
            agent_id=agent.id, path=path, started_at=started, ms_per_tile=characters.MS_PER_TILE, facing=facing,
            reason=reason,
        ))  # fmt: skip

    # -- coming and going -----------------------------------------------------------------------------------------

    def _place_for(self, wanted: e.Position | None) -> e.Position:
        """Where a newcomer is first: at the door, or where it was asked for; raises Refused."""
        if wanted is None:
            return self.plan.position(self.plan.door)
        self._check_goal(wanted, None)
        return wanted

    def _check_goal(self, wanted: e.Position, agent: Agent | None) -> int:
        tile = self.plan.at(wanted)
        if tile is None or not self.plan.restable[tile]:
            raise Refused("unreachable", f"Nobody can stand at {wanted.x}, {wanted.y}: choose a place on the floor.")
        if tile in self._kept(agent):
            raise Refused("unreachable", f"The place {wanted.x}, {wanted.y} is taken: choose another.")
        if self.plan.path(self.plan.door, [tile]) is None:
            raise Refused("unreachable", f"No way leads to {wanted.x}, {wanted.y}: choose another place.")
        return tile

    def _come_in(self, agent: Agent) -> None:
        """Through the door to the seat, one after the other."""
        door = self.plan.position(self.plan.door)
        if agent.position != door:
            return
        others = [a.walk_started for a in self.state.agents.values() if a.path and a.path[0] == door and a is not agent]
        self._walk(agent, [self._home(agent)], "enters", starts_at=max([self.now, *(o + ENTER_EVERY for o in others)]))

    def _go_home(self, agent: Agent) -> None:
        self._walk(agent, [self._home(agent)], "seat")

    def _go_out(self, agent: Agent) -> None:
        behind, started = self._under_way(agent)
        way = self.plan.path(self._tile(behind[-1]), [self.plan.door])
        if way is not None and len(way) > 1:
            path = [*behind[:-1], *(self.plan.position(tile) for tile in way)]
            self._moved(agent, path, started, "up", "leaves")

    def _move(self, agent: Agent, to: e.Position) -> None:
        if not agents.may_move(agent.state):
            raise Refused("invalid_state", f"{agent.name} is {agent.state} and does not move until it is idle.")
        tile = self._check_goal(to, agent)
        facing = self.plan.facing(self._tile(agent.position), tile) if to != agent.position else agent.facing
        self._walk(agent, [Place(tile, facing)], "command")

    # -- conversations --------------------------------------------------------------------------------------------

    def _stage_beginning(self, room: Room) -> None:
        assert room.auto is not None
        PATTERNS[room.auto.pattern].begins(Stage(self, room))

    def _stage_turn(self, room: Room, speaker: Agent, author: str | None) -> None:
        assert room.auto is not None
        answering = author if author in room.agents and author != speaker.id else None
        PATTERNS[room.auto.pattern].turn(Stage(self, room), speaker.id, answering)

    def _stage_end(self, room: Room) -> None:
        """B5: for whatever reason it ended; who is still speaking goes when that is over."""
        for agent_id in room.agents:
            if self.state.agents[agent_id].state == "idle":
                self._go_home(self.state.agents[agent_id])

    def approach(self, agent: Agent, other: Agent, reason: e.MoveReason = "answers") -> bool:
        """Go to the nearest free place beside somebody, and face each other."""
        plan, here, there = self.plan, self._tile(agent.position), self._tile(other.position)
        if there in plan.around(here):  # together already
            self.face(agent, other)
            self.face(other, agent)
            return True
        near = plan.beside(there)
        straight = [tile for tile in near if self._straight(tile, there)]
        for tiles in (straight, [tile for tile in near if tile not in straight]):
            if self._walk(agent, [Place(tile, plan.facing(tile, there)) for tile in tiles], reason):
                self._turn(other, plan.facing(there, self._tile(agent.position)))
                return True
        return False

    def _straight(self, here: int, there: int) -> bool:
        (x, y), (a, b) = self.plan.xy(here), self.plan.xy(there)
        return x == a or y == b

    def face(self, agent: Agent, other: Agent) -> None:
        if agent.position != other.position:
            self._turn(agent, self.plan.facing(self._tile(agent.position), self._tile(other.position)))

    def meet(self, agent: Agent) -> bool:
        kept = self._kept(agent)
        places = [place for place in self.plan.table if place.tile not in kept]
        here = next((place for place in places if place.tile == self._tile(agent.position)), None)
        return any(self._walk(agent, [place], "meets") for place in ([here] if here else places))

    # -- strolling ------------------------------------------------------------------------------------------------

    def _strolls(self) -> Iterator[tuple[float, Agent]]:
        """When each of those who may will get up next, or go back."""
        for agent in self.state.agents.values():
            room = self.state.rooms.get(agent.room_id or "")
            busy = room is not None and (room.auto is not None or room.id in self.asleep)
            back = agent.errand in ("wanders", "decides")
            if agent.state == "idle" and agent.participating and not busy and (back or self._strolls_at_all(agent)):
                yield self._stroll_at(agent), agent

    def _strolls_at_all(self, agent: Agent) -> bool:
        """Who decides for itself gets up when it wants to."""
        return self.rules.wander_seconds > 0 and not self.decides(agent)

    def _stroll_at(self, agent: Agent) -> float:
        since = max(characters.arrives_at(agent), agent.state_since, self.woke_at)
        if agent.errand in ("wanders", "decides"):
            return since + STAYS[0] + self._chance(agent, "stay") * (STAYS[1] - STAYS[0])
        return since + self.rules.wander_seconds * (0.5 + self._chance(agent, "go"))

    def _chance(self, agent: Agent, what: str) -> float:
        """Between 0 and 1, the same for the same stroll."""
        return zlib.crc32(f"{self.rules.office_id} {agent.id} {what} {agent.strolls}".encode()) / 0xFFFFFFFF

    def _stroll(self, agent: Agent) -> None:
        home = self._home(agent)
        away = self._tile(agent.position) != home.tile
        goal = home if away else self._spot(agent)
        if goal is None or not self._walk(agent, [goal], "seat" if away else "wanders"):
            self._moved(agent, [agent.position], self.now, agent.facing, "wanders")  # nowhere to go: later again

    def _spot(self, agent: Agent) -> Place | None:
        spots, kept = self.plan.spots, self._kept(agent)
        first = int(self._chance(agent, "where") * len(spots))
        return next((spot for spot in spots[first:] + spots[:first] if spot.tile not in kept), None)


class Stage:
    """The people of one room, for a pattern."""

    def __init__(self, moves: Moves, room: Room) -> None:
        self._moves, self._room = moves, room

    @property
    def members(self) -> list[str]:
        return list(self._room.agents)

    def approach(self, who: str, whom: str) -> bool:
        people = self._moves.state.agents
        return self._moves.approach(people[who], people[whom])

    def face(self, who: str, whom: str) -> None:
        people = self._moves.state.agents
        self._moves.face(people[who], people[whom])

    def meet(self, who: str) -> bool:
        return self._moves.meet(self._moves.state.agents[who])
