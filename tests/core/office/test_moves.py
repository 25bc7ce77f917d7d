"""People on the plan: who walks where, and the laws that hold whatever happens."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from office_under_test import RULES, Office, stored
from support import ROOT
from test_docs import blocks

from supervisor import events as e
from supervisor.core import inputs, view
from supervisor.core.core import Core
from supervisor.core.office import characters
from supervisor.core.office.patterns import PATTERNS
from supervisor.core.office.plan import Plan
from supervisor.errors import Refused

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.state import Agent

TINY = "#E#####\n#..c..#\n#..DD.#\n#.....#\n#######\n"


def agent(office: Office, name: str) -> Agent:
    return next(one for one in office.core.state.agents.values() if one.name == name)


def beside(one: Agent, other: Agent) -> bool:
    return abs(one.position.x - other.position.x) + abs(one.position.y - other.position.y) == 1


def looks_at(one: Agent, other: Agent) -> bool:
    dx, dy = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}[one.facing]
    return (one.position.x + dx, one.position.y + dy) == (other.position.x, other.position.y)


def home(office: Office, one: Agent) -> e.Position:
    plan = office.core.plan
    return plan.position(plan.homes[one.seat].tile)


def test_newcomers_come_through_the_door_one_after_the_other() -> None:
    """B1: each walks to a seat of its own, the nearest to the door first."""
    office = Office()
    office.begin("Ann", "Ben", "Cat", interaction_pattern="stay-at-desk")
    walks = [move for move in office.of(e.AgentMoved) if move.reason == "enters"]
    door = office.core.plan.position(office.core.plan.door)
    assert [move.path[0] for move in walks] == [door] * 3
    assert [one.seat for one in office.core.state.agents.values()] == [0, 1, 2]
    starts = [move.started_at for move in walks]
    assert [round(b - a, 3) for a, b in itertools.pairwise(starts)] == [0.8, 0.8]


def test_a_seat_is_free_again_when_its_owner_leaves() -> None:
    office = Office()
    office.begin("Ann", "Ben", "Cat")
    office.tell(inputs.StopAutoMode())
    office.tell(inputs.TerminateAgent(agent_id="agent_001"), after=30)
    assert [move.reason for move in office.of(e.AgentMoved)][-1] == "leaves"
    assert [gone.name for gone in office.core.state.leaving] == ["Ann"]
    shown = view.snapshot(office.core, office.now)
    assert [one["name"] for one in shown["leaving"]] == ["Ann"]
    assert view.snapshot(office.core, office.now + 60)["leaving"] == []
    office.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Dan", role="new")))
    assert agent(office, "Dan").seat == 0


def test_who_answers_walks_over_and_both_face_each_other() -> None:
    """B3: the first answers the topic and stays; the second walks to it; the first then stays where it is."""
    office = Office()
    office.begin("Ann", "Ben")
    office.now += 60
    ann, ben = agent(office, "Ann"), agent(office, "Ben")
    seats = [ann.position, ben.position]
    office.answer("I like tabs.")
    assert ann.position == seats[0]
    assert beside(ann, ben)
    assert looks_at(ben, ann)
    assert looks_at(ann, ben)
    walk = next(move for move in reversed(office.of(e.AgentMoved)) if move.agent_id == ben.id)
    assert (walk.reason, walk.path[0], walk.path[-1]) == ("answers", seats[1], ben.position)
    before = len(office.of(e.AgentMoved))
    office.answer("I do not.")
    assert len(office.of(e.AgentMoved)) == before  # together already
    office.now += 60
    office.tell(inputs.StopAutoMode())
    assert [ann.position, ben.position] == seats  # B5
    assert (ann.facing, ben.facing) == tuple(office.core.plan.homes[one.seat].facing for one in (ann, ben))


def test_of_three_only_the_one_whose_turn_it_is_walks() -> None:
    """B3."""
    office = Office()
    office.begin("Ann", "Ben", "Cat")
    office.answer("one")
    cat = agent(office, "Cat").position
    assert cat == home(office, agent(office, "Cat"))
    office.answer("two")
    assert beside(agent(office, "Cat"), agent(office, "Ben"))


def test_without_a_way_it_stays_and_the_conversation_goes_on() -> None:
    """B4: a desk in a niche whose one way in is taken."""
    walled = "####E####\n#.......#\n#.##.##.#\n#..#c#..#\n#..#DD..#\n#.......#\n#########\n"
    office = Office(msgspec.structs.replace(RULES, plan=walled))
    office.tell(inputs.StartRoom(name="R", settings=e.Settings(response_delay=0), agents=(
        inputs.AgentConfig(name="Ann", role="a"),
        inputs.AgentConfig(name="Ben", role="b", initial_position=e.Position(1, 5)),
        inputs.AgentConfig(name="Cat", role="c", initial_position=e.Position(4, 2)),
    )))  # fmt: skip
    office.tell(inputs.StartAutoMode(topic="x"), after=60)
    ben = agent(office, "Ben")
    before = (ben.position, ben.facing)
    office.answer("hello")
    assert office.name(office.asked.agent_id) == "Ben"
    assert (ben.position, ben.facing) == before


def test_stay_at_desk_only_turns() -> None:
    """B2."""
    office = Office()
    office.begin("Ann", "Ben", interaction_pattern="stay-at-desk")
    office.answer("one")
    assert {move.reason for move in office.of(e.AgentMoved)} <= {"enters", "turns"}
    ann, ben = agent(office, "Ann"), agent(office, "Ben")
    plan = office.core.plan
    assert ben.facing == plan.facing(plan.at(ben.position) or 0, plan.at(ann.position) or 0)
    assert office.room.auto.pattern == "stay-at-desk"


def test_meet_at_table_gathers_all_for_as_long_as_it_runs() -> None:
    """B2, B5: seats around the table, and back to their own afterwards."""
    office = Office()
    office.begin(*(f"A{chr(97 + n)}" for n in range(14)), interaction_pattern="meet-at-table")
    places = {office.core.plan.position(place.tile) for place in office.core.plan.table}
    assert {one.position for one in office.core.state.agents.values()} <= places
    office.answer("one")
    office.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Zoe", role="late")))
    for _ in range(13):
        office.answer("more")
    assert office.name(office.asked.agent_id) == "Zoe"
    assert agent(office, "Zoe").position in places
    office.tell(inputs.StopAutoMode())
    assert all(one.position == home(office, one) for one in office.core.state.agents.values())


@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_a_plan_without_a_table_and_with_one_desk_will_do(pattern: str) -> None:
    """More agents than seats get places to stand."""
    office = Office(msgspec.structs.replace(RULES, plan=TINY))
    office.begin("Ann", "Ben", "Cat", interaction_pattern=pattern)
    for _ in range(6):
        office.answer("word")
    rest = [one.position for one in office.core.state.agents.values()]
    assert len(set(rest)) == 3


def test_a_full_office_lets_nobody_in() -> None:
    office = Office(msgspec.structs.replace(RULES, plan=TINY))
    room = len(office.core.plan.homes)
    for number in range(room):
        office.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name=f"A{number}", role="x")))
    before = stored(office.core.state)
    with pytest.raises(Refused, match="The office is full") as refused:
        office.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Late", role="x")))
    assert refused.value.code == "limit_reached"
    assert office.core.state == before


@pytest.mark.parametrize(("x", "y", "why"), [(-1, 2, "on the floor"), (2, 6, "on the floor"), (400, 2, "on the floor"),
                                            (2, 5, "is taken"), (0, 0, "on the floor")])  # fmt: skip
def test_a_place_that_cannot_be_had_is_refused(x: int, y: int, why: str) -> None:
    """Beyond the plan, in a desk, in a wall, on somebody's seat."""
    office = Office()
    office.begin("Ann", "Ben", "Cat")
    place = e.Position(x, y)
    if why == "is taken":
        place = agent(office, "Ann").position
    for command in (
        inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Dan", role="x", initial_position=place)),
        inputs.MoveAgent(agent_id="agent_002", position=place),
    ):
        with pytest.raises(Refused, match=why) as refused:
            office.tell(command)
        assert refused.value.code == "unreachable"


def test_in_the_middle_of_a_walk_one_turns_at_the_next_tile() -> None:
    """B6: the new walk begins where the old one is, so that nobody jumps."""
    office = Office()
    office.begin("Ann", "Ben")
    office.tell(inputs.StopAutoMode())
    office.now += 60
    office.tell(inputs.MoveAgent(agent_id="agent_001", position=e.Position(14, 9)))
    first = office.of(e.AgentMoved)[-1]
    office.now = first.started_at + 2.5 * first.ms_per_tile / 1000
    office.tell(inputs.MoveAgent(agent_id="agent_001", position=e.Position(1, 10)))
    second = office.of(e.AgentMoved)[-1]
    assert second.path[:2] == first.path[2:4]
    assert second.started_at == pytest.approx(first.started_at + 2 * first.ms_per_tile / 1000)
    assert office.core.position(agent(office, "Ann")) == first.path[2]


def test_a_blocked_way_is_planned_anew() -> None:
    """Somebody comes to rest on a tile of the way: the walker goes around."""
    office = Office()
    office.begin("Ann", "Ben")
    office.tell(inputs.StopAutoMode())
    office.now += 60
    office.tell(inputs.MoveAgent(agent_id="agent_001", position=e.Position(14, 9)))
    walk = office.of(e.AgentMoved)[-1]
    place = walk.path[-2]
    office.tell(inputs.MoveAgent(agent_id="agent_002", position=place), after=0.1)
    moves = office.of(e.AgentMoved)
    assert moves[-1].agent_id == "agent_001"
    assert place not in moves[-1].path
    assert moves[-1].path[-1] == e.Position(14, 9)


def test_idle_people_stretch_their_legs_now_and_then() -> None:
    """About once in 90 seconds, not all at once; never while their room talks."""
    office = Office(msgspec.structs.replace(RULES, wander_seconds=90.0))
    office.begin("Ann", "Ben", "Cat", "Dan")
    office.answer("hello")
    talking = office.core.next_deadline() or 0
    office.tell(inputs.Due(), talking - office.now)
    assert not [move for move in office.of(e.AgentMoved) if move.reason == "wanders"]
    if office.room.auto:
        office.tell(inputs.StopAutoMode())
    begun = office.now
    while office.now < begun + 1800:
        office.tell(inputs.Due(), max(0.0, (office.core.next_deadline() or 0) - office.now))
    walks = [move for move in office.of(e.AgentMoved) if move.reason == "wanders"]
    assert 4 * 1800 / 90 * 0.5 < len(walks) < 4 * 1800 / 90 * 1.2
    assert len({round(move.at, 1) for move in walks}) > len(walks) * 0.9
    assert len({move.path[-1] for move in walks}) > 8
    backs = [move for move in office.of(e.AgentMoved) if move.reason == "seat"]
    assert len(backs) >= len(walks) - 4


def test_another_plan_places_everybody_anew() -> None:
    """And a restart with the same one moves nobody."""
    office = Office()
    office.begin("Ann", "Ben")
    same = Core(RULES, stored(office.core.state))
    assert not [x for x in same.decide(inputs.Wake(), office.now).events if isinstance(x, e.OfficeFurnished)]
    other = Core(msgspec.structs.replace(RULES, plan=TINY), stored(office.core.state))
    decision = other.decide(inputs.Wake(), office.now)
    assert [x.plan for x in decision.events if isinstance(x, e.OfficeFurnished)] == [TINY]
    plan = Plan(TINY)
    assert [plan.restable[plan.at(one.position) or 0] for one in other.state.agents.values()] == [1, 1]


def test_a_fourth_pattern_is_one_file_and_one_line(tmp_path: Path) -> None:
    """B2: exactly what docs/adding-a-pattern.md says, in a copy of the package."""
    shutil.copytree(ROOT / "supervisor", tmp_path / "supervisor", ignore=shutil.ignore_patterns("__pycache__"))
    page = ROOT / "docs" / "adding-a-pattern.md"
    (file,), (change,) = blocks(page, "python"), blocks(page, "diff")
    imports, line = [added[1:] for added in change.split("\n") if added.startswith("+")]
    patterns = tmp_path / "supervisor" / "core" / "office" / "patterns"
    (patterns / "gather_round.py").write_text(file)
    registry = (patterns / "__init__.py").read_text()
    registry = registry.replace("from .meet", f"{imports}\nfrom .meet")
    registry = registry.replace("        MeetAtTable(),\n", f"        MeetAtTable(),\n{line}\n")
    (patterns / "__init__.py").write_text(registry)
    command = [sys.executable, "-c", "from supervisor.cli import main; main()", "talk", "--pattern", "gather-round",
               "--turns", "2", "--json", "--state-dir", str(tmp_path / "state")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    assert '"interactionPattern":"gather-round"' in done.stdout
    assert '"reason":"answers"' in done.stdout


class Lives(RuleBasedStateMachine):
    """Random plans, random people, random commands: the laws of the office hold."""

    @initialize(
        plan=st.sampled_from([RULES.plan, TINY, "#####E#\n#..c..#\n#..DD.#\n#o###.#\n#..c..#\n#..DD.#\n#######\n",
                              "####E####\n#...:...#\n#.cTTTc.#\n#..TTT..#\n#...c...#\n#DD.....#\n#c..ffa.#\n#########\n"]),
        pattern=st.sampled_from(sorted(PATTERNS)),
    )  # fmt: skip
    def open(self, plan: str, pattern: str) -> None:
        self.office = Office(msgspec.structs.replace(RULES, plan=plan, wander_seconds=20.0))
        people = tuple(inputs.AgentConfig(name=n, role=n) for n in ("Ann", "Ben", "Cat"))
        limits = e.Settings(response_delay=0, interaction_pattern=pattern)
        self.tell(inputs.StartRoom(name="R", settings=limits, agents=people))

    def tell(self, given: Any, after: float = 0.0) -> None:
        with contextlib.suppress(Refused):
            self.office.tell(given, after)

    @rule(after=st.floats(0, 30))
    def time_passes(self, after: float) -> None:
        self.tell(inputs.Due(), after)

    @rule(number=st.integers(1, 9), x=st.integers(0, 12), y=st.integers(0, 12), after=st.floats(0, 2))
    def move(self, number: int, x: int, y: int, after: float) -> None:
        self.tell(inputs.MoveAgent(agent_id=f"agent_{number:03d}", position=e.Position(x, y)), after)

    @rule(name=st.sampled_from(["Dan", "Eli", "Fay"]), after=st.floats(0, 2))
    def come(self, name: str, after: float) -> None:
        self.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name=name, role=name)), after)

    @rule(number=st.integers(1, 9))
    def leave(self, number: int) -> None:
        self.tell(inputs.TerminateAgent(agent_id=f"agent_{number:03d}"))

    @rule(after=st.floats(0, 3))
    def talk(self, after: float) -> None:
        self.tell(inputs.StartAutoMode(topic="x"), after)
        for ask_id in list(self.office.core.state.asks):
            over = inputs.TurnOver(ask_id=ask_id, status="answered", signal="transcript", text="word")
            self.tell(over, after)

    @rule()
    def stop(self) -> None:
        self.tell(inputs.StopAutoMode())

    @invariant()
    def no_two_rest_on_one_tile(self) -> None:
        people = list(self.office.core.state.agents.values())
        assert len({one.position for one in people}) == len(people)
        assert len({one.seat for one in people}) == len(people)

    @invariant()
    def nobody_walks_through_furniture(self) -> None:
        plan = self.office.core.plan
        for move in self.office.of(e.AgentMoved)[-8:]:
            tiles = [plan.at(place) for place in move.path]
            assert all(tile is not None and plan.walkable[tile] for tile in tiles[2:-1])
            assert all(
                plan.restable[tile or 0] or tile == plan.door for tile in tiles[1:2]
            )  # who is about to sit down gets up from there
            steps = itertools.pairwise(move.path)
            assert all(abs(a.x - b.x) + abs(a.y - b.y) == 1 for a, b in steps)
            assert move.started_at < self.office.now + 60

    @invariant()
    def everybody_rests_where_one_can(self) -> None:
        plan = self.office.core.plan
        for one in self.office.core.state.agents.values():
            assert plan.restable[plan.at(one.position) or 0]
            assert one.position == one.path[-1]

    def teardown(self) -> None:
        """Left alone after the end, every walk ends and everybody is back at their seat."""
        if not hasattr(self, "office"):
            return
        self.stop()
        self.office.core.rules = msgspec.structs.replace(self.office.core.rules, wander_seconds=0.0)
        for one in list(self.office.core.state.agents.values()):
            self.tell(inputs.MoveAgent(agent_id=one.id, position=home(self.office, one)))
        self.office.now += 120
        for one in self.office.core.state.agents.values():
            assert not characters.walks(one, self.office.now)
            assert characters.tile_at(one, self.office.now) == home(self.office, one)


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
