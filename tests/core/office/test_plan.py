"""The floor plan: read, checked, and walked on."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.core.office.default import TEXT
from supervisor.core.office.plan import KINDS, Plan
from supervisor.errors import PlanError

SMALL = """\
##E####
#..c..#
#..DD.#
#.....#
#######
"""


def test_the_usual_office_has_what_an_office_has() -> None:
    """B1: desks, a meeting table with seats on all sides, a kitchen, and at least 30 different things to draw."""
    plan = Plan(TEXT)
    kinds = {thing.kind for thing in plan.things}
    assert len(plan.seats) == 16
    assert {place.facing for place in plan.table[:12]} == {"up", "down", "left", "right"}
    assert {"desk", "table", "coffee machine", "plant", "window", "door", "whiteboard", "clock", "sofa"} <= kinds
    assert {KINDS[sign].name for row in plan.rows for sign in row} >= {"wood", "tiles", "carpet"}


def test_seats_are_sorted_by_the_way_from_the_door() -> None:
    plan = Plan(TEXT)
    ways = [len(plan.path(plan.door, [seat.tile]) or []) for seat in plan.seats]
    assert ways == sorted(ways)
    assert ways[0] > 1


def test_a_chair_looks_at_its_desk() -> None:
    plan = Plan(SMALL)
    assert plan.seats[0].facing == "down"
    assert [thing.facing for thing in plan.things if thing.kind == "desk"] == ["down"]


def test_notes_and_foreign_line_ends_are_fine() -> None:
    assert Plan("; a note\r\n" + SMALL.replace("\n", "\r\n")).rows == Plan(SMALL).rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected 5×4 to 128×128 tiles, got 0×0"),
        ("###\n#E#\n###\n", "expected 5×4 to 128×128 tiles, got 3×3"),
        (SMALL.replace("#.....#", "#....#"), "line 4, column 7: expected 7 signs as in the first row, got 6"),
        (SMALL.replace("#.....#", "#..?..#"), "line 4, column 4: there is no sign '?'"),
        (SMALL.replace("DD", "D."), "line 3, column 4: a desk (D) takes 2×1 tiles"),
        (SMALL.replace("#.....#", "#.TT..#\n#.T...#"), "line 4, column 3: a table (T) has to be a rectangle"),
        (SMALL.replace("##E####", "##.####"), "line 1, column 3: the outer edge has to be wall (#), got '.'"),
        (SMALL.replace("E", "#"), "expected one door (E), got 0"),
        (SMALL.replace("##E####", "##EE###"), "expected one door (E), got 2"),
        (SMALL.replace("E", "#").replace("#.....#", "#..E..#"), "line 4, column 4: the door (E) has to lead outside"),
        (SMALL.replace("#.....#", "=.....#"), "line 4, column 1: nobody can see a window here: hang it above a floor."),
        (SMALL.replace("c", "."), "expected at least one desk (DD) with a chair"),
        (SMALL.replace("#.....#", "#c....#"), "line 4, column 2: a chair (c) needs a desk (D) or a table (T)"),
        (SMALL.replace("#..c..#", "#.#c###"), "line 2, column 4: nobody can get from the door to this chair"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(PlanError) as wrong:
        Plan(text, "my.plan")
    assert str(wrong.value).startswith("my.plan: ")
    assert message in str(wrong.value)


@st.composite
def plans(draw: st.DrawFn, most: int = 12) -> Plan:
    """Random rooms with random furniture; those that cannot be an office are mended by taking seats away."""
    width, height = draw(st.integers(7, most)), draw(st.integers(6, most))
    grid = [["#" if x in (0, width - 1) or y in (0, height - 1) else "." for x in range(width)] for y in range(height)]
    grid[0][draw(st.integers(1, width - 2))] = "E"
    for _ in range(draw(st.integers(0, width * height // 6))):
        x, y = draw(st.integers(1, width - 2)), draw(st.integers(1, height - 2))
        grid[y][x] = draw(st.sampled_from("#PoaKC"))
    for _ in range(draw(st.integers(1, 4))):
        x, y = draw(st.integers(1, width - 3)), draw(st.integers(2, height - 2))
        if grid[y][x] + grid[y][x + 1] + grid[y - 1][x] == "...":
            grid[y][x] = grid[y][x + 1] = "D"
            grid[y - 1][x] = "c"
    for _ in range(width * height):
        text = "\n".join("".join(row) for row in grid)
        try:
            return Plan(text)
        except PlanError as error:
            if "nobody can get" not in str(error):
                break
            place = str(error).split("line ")[1].split(":")[0].split(", column ")
            grid[int(place[0]) - 1][int(place[1]) - 1] = "#"
    return Plan(SMALL)


@given(plans(), st.data())
@settings(max_examples=150)
def test_a_way_is_shortest_and_never_crosses_furniture(plan: Plan, data: st.DataObject) -> None:
    tiles = [tile for tile, ends in enumerate(plan.restable) if ends]
    start = data.draw(st.sampled_from(tiles))
    goals = data.draw(st.lists(st.sampled_from(tiles), min_size=1, max_size=3))
    avoid = frozenset(data.draw(st.lists(st.sampled_from(tiles), max_size=5))) - {start, *goals}
    way = plan.path(start, goals, avoid)
    assert steps(plan, start, set(goals), avoid) == (len(way) - 1 if way else None)
    if way:
        assert way[0] == start
        assert way[-1] in goals
        assert all(plan.walkable[tile] and tile not in avoid for tile in way[1:-1])
        places = [plan.xy(tile) for tile in way]
        pairs = itertools.pairwise(places)
        assert all(abs(a - x) + abs(b - y) == 1 for (a, b), (x, y) in pairs)


def steps(plan: Plan, start: int, goals: set[int], avoid: frozenset[int]) -> int | None:
    """The length of the shortest way, found in the plainest manner."""
    front, seen, count = {start}, {start}, 0
    while front:
        if front & goals:
            return count
        near = {n for tile in front if tile == start or plan.walkable[tile] for n in plan.around(tile)}
        front = {n for n in near - seen if n in goals or (plan.walkable[n] and n not in avoid)}
        seen |= front
        count += 1
    return None


def test_a_way_keeps_straight_where_it_can() -> None:
    plan = Plan("########\n#......#\n#......#\n#...c..#\n#...DD.#\n##E#####\n")
    way = plan.path(plan.tile(1, 1), [plan.tile(6, 2)]) or []
    places = [plan.xy(tile) for tile in way]
    moves = [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(places)]
    assert sum(a != b for a, b in itertools.pairwise(moves)) == 1


def test_a_crowd_that_stands_about_leaves_ways_free() -> None:
    """64×64 tiles with 200 people at their places: from corner to corner nobody has to be passed through."""
    size = 64
    rows = ["#" * size, *("#" + "." * (size - 2) + "#" for _ in range(size - 2)), "#" * size]
    rows[0] = "##E" + rows[0][3:]
    rows[31] = "#" + "." * 30 + "c" + "." * 31 + "#"
    rows[32] = "#" + "." * 30 + "DD" + "." * 30 + "#"
    plan = Plan("\n".join(rows))
    avoid = frozenset(home.tile for home in plan.homes[1:201])
    assert plan.path(plan.tile(62, 62), [plan.tile(1, 1)], avoid)


def test_nobody_is_sent_to_stand_in_a_doorway() -> None:
    """The openings of the usual office are kept free; where there is no other place, one stands there."""
    plan = Plan(TEXT)
    openings = {(x, y) for x in (17,) for y in (7, 8, 12, 13)}
    assert {
        plan.xy(tile) for tile in range(len(plan.walkable)) if plan.walkable[tile] and plan.doorway(tile)
    } >= openings
    assert not {plan.xy(near) for near in plan.beside(plan.tile(16, 8))} & openings
    narrow = Plan("#E####\n#.c..#\n#.DD.#\n######")
    assert narrow.beside(narrow.tile(2, 1))
