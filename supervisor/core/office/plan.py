"""The floor plan: a map in text, one sign a tile, that anybody can draw; checked with the place of each mistake.

Tiles are numbered row by row: tile = y * width + x. People walk on floor; chairs, sofas and armchairs are where a walk
may begin or end, and never a way through.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from supervisor.errors import PlanError
from supervisor.events import Facing, Position

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

Where = Literal["wall", "floor", "thing", "seat"]


class Kind(NamedTuple):
    """What a sign stands for; a size of 0 means any rectangle."""

    name: str
    where: Where
    width: int = 1
    height: int = 1


KINDS: dict[str, Kind] = {
    "#": Kind("wall", "wall"), "=": Kind("window", "wall"), "E": Kind("door", "wall"), "q": Kind("clock", "wall"),
    "w": Kind("whiteboard", "wall", 2), "h": Kind("poster", "wall"),
    ".": Kind("wood", "floor"), ",": Kind("tiles", "floor"), ":": Kind("carpet", "floor"), "r": Kind("rug", "floor"),
    "D": Kind("desk", "thing", 2), "c": Kind("chair", "seat"), "T": Kind("table", "thing", 0, 0),
    "f": Kind("sofa", "seat", 2), "a": Kind("armchair", "seat"), "t": Kind("coffee table", "thing", 2),
    "b": Kind("bookshelf", "thing", 2), "P": Kind("plant", "thing"), "o": Kind("boxes", "thing"),
    "l": Kind("lamp", "thing"), "n": Kind("bin", "thing"), "p": Kind("printer", "thing"), "i": Kind("cabinet", "thing"),
    "k": Kind("coat rack", "thing"), "R": Kind("server rack", "thing"), "x": Kind("aquarium", "thing", 2),
    "~": Kind("cat bed", "thing"), "K": Kind("counter", "thing"), "C": Kind("coffee machine", "thing"),
    "S": Kind("sink", "thing"), "m": Kind("microwave", "thing"), "F": Kind("fridge", "thing"),
    "V": Kind("vending machine", "thing"), "W": Kind("water cooler", "thing"),
}  # fmt: skip
SMALLEST, LARGEST = (5, 4), (128, 128)
VISITED = ("coffee machine", "water cooler", "vending machine", "fridge", "bookshelf", "printer", "window",
           "whiteboard", "plant", "aquarium", "cat bed", "coffee table", "server rack", "poster")  # fmt: skip
"""What people walk to when they stretch their legs."""
STEPS: dict[Facing, tuple[int, int]] = {"down": (0, 1), "up": (0, -1), "left": (-1, 0), "right": (1, 0)}


class Thing(NamedTuple):
    """Something that stands or hangs somewhere; `facing` where it has a front."""

    kind: str
    x: int
    y: int
    width: int = 1
    height: int = 1
    facing: Facing = "down"


class Place(NamedTuple):
    """A tile to be at, and where to look from it."""

    tile: int
    facing: Facing


class Plan:
    """A checked plan; everything that follows from the map alone is worked out once."""

    def __init__(self, text: str, name: str = "floor plan") -> None:
        self.text, self.name = text, name
        lines = text.replace("\r\n", "\n").split("\n")
        numbered = [(n, line.rstrip()) for n, line in enumerate(lines, 1) if line.strip() and not line.startswith(";")]
        self._line_of = [number for number, _ in numbered]
        self.rows = [line for _, line in numbered]
        self.height, self.width = len(self.rows), len(self.rows[0]) if self.rows else 0
        self._check_shape()
        self.things = self._find_things()
        self._check_edge()
        self._check_hung()
        self.door = self._find_door()
        kinds = [KINDS[sign] for row in self.rows for sign in row]
        self.walkable = bytes(kind.where == "floor" or kind.name == "door" for kind in kinds)
        """Where one may walk through."""
        self.restable = bytes(kind.where in ("floor", "seat") for kind in kinds)
        """Where a walk may end."""
        self._around = [self._neighbours(tile) for tile in range(len(kinds))]
        self.things = [self._turned(thing) for thing in self.things]
        self._check_reach()

    # -- checking -------------------------------------------------------------------------------------------------

    def _wrong(self, y: int, x: int, what: str) -> PlanError:
        return PlanError(f"{self.name}: line {self._line_of[y]}, column {x + 1}: {what}")

    def _check_shape(self) -> None:
        (least_w, least_h), (most_w, most_h) = SMALLEST, LARGEST
        for y, row in enumerate(self.rows):
            if len(row) != self.width:
                raise self._wrong(y, len(row), f"expected {self.width} signs as in the first row, got {len(row)}.")
            for x, sign in enumerate(row):
                if sign not in KINDS:
                    raise self._wrong(y, x, f"there is no sign {sign!r}; expected one of {' '.join(KINDS)}.")
        if not (least_w <= self.width <= most_w and least_h <= self.height <= most_h):
            raise PlanError(
                f"{self.name}: expected {least_w}×{least_h} to {most_w}×{most_h} tiles, got {self.width}×{self.height}."
            )

    def _find_things(self) -> list[Thing]:
        things: list[Thing] = []
        taken: set[tuple[int, int]] = set()
        for y, row in enumerate(self.rows):
            for x, sign in enumerate(row):
                kind = KINDS[sign]
                if (x, y) in taken or kind.where == "floor" or sign == "#":
                    continue
                width, height = kind.width or self._run(x, y, sign), kind.height
                if not height:
                    height = next((h for h in range(1, self.height - y) if self.rows[y + h][x] != sign), 1)
                area = {(x + dx, y + dy) for dx in range(width) for dy in range(height)}
                if area & taken or any(cx >= self.width or self.rows[cy][cx] != sign for cx, cy in area):
                    size = f"takes {width}×{height} tiles" if kind.width else "has to be a rectangle"
                    raise self._wrong(y, x, f"a {kind.name} ({sign}) {size}.")
                taken |= area
                things.append(Thing(kind.name, x, y, width, height))
        return things

    def _run(self, x: int, y: int, sign: str) -> int:
        row = self.rows[y]
        return next((n for n in range(self.width - x) if row[x + n] != sign), self.width - x)

    def _check_edge(self) -> None:
        for y, row in enumerate(self.rows):
            for x, sign in enumerate(row):
                if (x in (0, self.width - 1) or y in (0, self.height - 1)) and KINDS[sign].where != "wall":
                    raise self._wrong(y, x, f"the outer edge has to be wall (#), got {sign!r}.")

    def _check_hung(self) -> None:
        for thing in self.things:
            hung = KINDS[self.rows[thing.y][thing.x]].where == "wall" and thing.kind != "door"
            below = self.rows[thing.y + 1][thing.x] if thing.y + 1 < self.height else "#"
            if hung and KINDS[below].where == "wall":
                raise self._wrong(thing.y, thing.x, f"nobody can see a {thing.kind} here: hang it above a floor.")

    def _find_door(self) -> int:
        doors = [thing for thing in self.things if thing.kind == "door"]
        if len(doors) != 1:
            raise PlanError(f"{self.name}: expected one door (E), got {len(doors)}.")
        (door,) = doors
        if door.x not in (0, self.width - 1) and door.y not in (0, self.height - 1):
            raise self._wrong(door.y, door.x, "the door (E) has to lead outside: put it into the outer wall.")
        return self.tile(door.x, door.y)

    def _check_reach(self) -> None:
        if not self.seats:
            raise PlanError(f"{self.name}: expected at least one desk (DD) with a chair (c) beside it.")
        reached = self.distances([self.door])
        for tile, ends in enumerate(self.restable):
            if ends and reached[tile] < 0 and KINDS[self.sign(tile)].where == "seat":
                x, y = self.xy(tile)
                raise self._wrong(y, x, f"nobody can get from the door to this {KINDS[self.sign(tile)].name}.")

    def _turned(self, thing: Thing) -> Thing:
        """A chair looks at its desk or table; a desk has its front where somebody sits."""
        if thing.kind == "chair":
            for facing, (dx, dy) in STEPS.items():
                if self.rows[thing.y + dy][thing.x + dx] in "DT":
                    return thing._replace(facing=facing)
            raise self._wrong(thing.y, thing.x, "a chair (c) needs a desk (D) or a table (T) beside it.")
        if thing.kind == "desk":
            behind = any(self.rows[thing.y - 1][x] == "c" for x in (thing.x, thing.x + 1))
            return thing._replace(facing="down" if behind else "up")
        return thing

    # -- tiles ----------------------------------------------------------------------------------------------------

    def tile(self, x: int, y: int) -> int:
        return y * self.width + x

    def xy(self, tile: int) -> tuple[int, int]:
        y, x = divmod(tile, self.width)
        return x, y

    def position(self, tile: int) -> Position:
        return Position(*self.xy(tile))

    def at(self, position: Position) -> int | None:
        """The tile of a position, if it lies on the plan."""
        inside = 0 <= position.x < self.width and 0 <= position.y < self.height
        return self.tile(position.x, position.y) if inside else None

    def sign(self, tile: int) -> str:
        x, y = self.xy(tile)
        return self.rows[y][x]

    def _neighbours(self, tile: int) -> tuple[int, ...]:
        x, y = self.xy(tile)
        around = ((x + dx, y + dy) for dx, dy in STEPS.values())
        return tuple(self.tile(a, b) for a, b in around if 0 <= a < self.width and 0 <= b < self.height)

    def around(self, tile: int) -> tuple[int, ...]:
        """The four tiles next to this one, whatever stands there."""
        return self._around[tile]

    def beside(self, tile: int) -> list[int]:
        """Tiles to stand on next to this one: straight ahead first, then across the corner."""
        x, y = self.xy(tile)
        corners = [(x + dx, y + dy) for dx in (-1, 1) for dy in (-1, 1)]
        across = [self.tile(a, b) for a, b in corners if 0 <= a < self.width and 0 <= b < self.height]
        near = [near for near in (*self._around[tile], *across) if self.walkable[near] and near != self.door]
        return [place for place in near if not self.doorway(place)] or near

    def doorway(self, tile: int) -> bool:
        """An opening in a wall, up to two tiles wide: nobody should stand in it."""
        return any(self._opening(tile, step) <= 2 for step in (1, self.width))

    def _opening(self, tile: int, step: int) -> int:
        """How many tiles one could stand on lie between the walls to both sides; many, if something else is there."""
        count = 1
        for way in (step, -step):
            near = tile + way
            while self.walkable[near]:
                count, near = count + 1, near + way
            if KINDS[self.sign(near)].where != "wall":
                return len(self.walkable)
        return count

    def facing(self, here: int, there: int) -> Facing:
        (x, y), (a, b) = self.xy(here), self.xy(there)
        if abs(a - x) >= abs(b - y):
            return "right" if a > x else "left"
        return "down" if b > y else "up"

    # -- places ---------------------------------------------------------------------------------------------------

    def _chairs_at(self, signs: str) -> list[Place]:
        found = []
        for chair in self.things:
            if chair.kind == "chair":
                dx, dy = STEPS[chair.facing]
                if self.rows[chair.y + dy][chair.x + dx] in signs:
                    found.append(Place(self.tile(chair.x, chair.y), chair.facing))
        return found

    @cached_property
    def seats(self) -> list[Place]:
        """Desks to work at, the nearest to the door first."""
        far = self.distances([self.door])
        return sorted(self._chairs_at("D"), key=lambda place: (far[place.tile], place.tile))

    @cached_property
    def table(self) -> list[Place]:
        """Seats around the meeting table, those across from each other in turn; then standing room around them."""
        chairs = self._chairs_at("T")
        by_side = [[place for place in chairs if place.facing == side] for side in ("down", "up", "right", "left")]
        mixed = [side[n] for n in range(len(chairs)) for side in by_side if n < len(side)]
        taken = {place.tile for place in chairs}
        middle = [self.tile(t.x + t.width // 2, t.y + t.height // 2) for t in self.things if t.kind == "table"]
        around = sorted({near for place in mixed for near in self.beside(place.tile)} - taken)
        return mixed + [Place(tile, self.facing(tile, middle[0])) for tile in around]

    @cached_property
    def homes(self) -> list[Place]:
        """Where each has its place: the desks, then standing room that blocks nobody's way, then any other."""
        taken = {place.tile for place in self.seats}
        far = self.distances([self.door])
        free = [t for t in range(len(far)) if self.walkable[t] and far[t] > 2 and t not in taken]
        free.sort(key=lambda tile: (self._in_the_way(tile), sum(n % 2 for n in self.xy(tile)), far[tile], tile))
        return [*self.seats, *(Place(tile, "down") for tile in free)]

    def _in_the_way(self, tile: int) -> bool:
        """A passage, or the place in front of a seat."""
        near = self._around[tile]
        return sum(self.walkable[n] for n in near) < 3 or any(self.restable[n] > self.walkable[n] for n in near)

    @cached_property
    def spots(self) -> list[Place]:
        """Where one goes to stretch one's legs: beside things that people go to, and lounge seats."""
        found = {}
        for thing in self.things:
            if thing.kind in VISITED:
                below = self.tile(thing.x, thing.y + thing.height) if thing.y + thing.height < self.height else 0
                if self.walkable[below]:
                    found[below] = Place(below, "up")
            elif thing.kind in ("sofa", "armchair"):
                for x in range(thing.x, thing.x + thing.width):
                    found[self.tile(x, thing.y)] = Place(self.tile(x, thing.y), "down")
        reached = self.distances([self.door])
        return [place for tile, place in sorted(found.items()) if reached[tile] >= 0]

    def spots_at(self, kind: str) -> list[Place]:
        """Where one stands to be at things of this kind."""
        below = {
            self.tile(x, thing.y + thing.height)
            for thing in self.things if thing.kind == kind and thing.y + thing.height < self.height
            for x in range(thing.x, thing.x + thing.width)
        }  # fmt: skip
        return [place for place in self.spots if place.tile in below]

    # -- ways -----------------------------------------------------------------------------------------------------

    def distances(self, goals: Iterable[int], avoid: Collection[int] = (), until: int = -1) -> list[int]:
        """How many steps each tile is from the nearest goal, -1 where no way leads; stops when `until` is reached."""
        far = [-1] * (self.width * self.height)
        queue = deque(goals)
        for goal in queue:
            far[goal] = 0
        walkable, beside = self.walkable, self._around
        while queue:
            tile = queue.popleft()
            if tile == until:
                break
            steps = far[tile] + 1
            for near in beside[tile]:
                if far[near] >= 0:
                    continue
                if walkable[near] and near not in avoid:
                    far[near] = steps
                    queue.append(near)
                elif near == until or self.restable[near]:
                    far[near] = steps  # a seat: the way may begin here, and leads nowhere else
                    if near == until:
                        queue.append(near)
        return far

    def path(self, start: int, goals: Collection[int], avoid: Collection[int] = ()) -> list[int] | None:
        """The shortest way to the nearest goal, with as few turns as can be had; it never crosses furniture."""
        goals = [goal for goal in goals if self.restable[goal] or goal == self.door]
        if start in goals:
            return [start]
        avoid = avoid if isinstance(avoid, set | frozenset) else frozenset(avoid)
        far = self.distances(goals, avoid, start)
        if far[start] < 0:
            return None
        way, tile, step = [start], start, 0
        while far[tile] > 0:
            nearer = [n for n in self._around[tile] if far[n] == far[tile] - 1 and self._open(n, far[n], avoid)]
            tile = tile + step if tile + step in nearer else nearer[0]
            step = tile - way[-1]
            way.append(tile)
        return way

    def _open(self, tile: int, far: int, avoid: Collection[int]) -> bool:
        return far == 0 or bool(self.walkable[tile] and tile not in avoid)

    # -- for viewers ----------------------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """What a viewer draws: the map, and what stands where."""
        return {
            "width": self.width, "height": self.height, "rows": self.rows,
            "door": dict(zip("xy", self.xy(self.door), strict=True)),
            "things": [thing._asdict() for thing in self.things],
            "seats": [{**dict(zip("xy", self.xy(s.tile), strict=True)), "facing": s.facing} for s in self.seats],
        }  # fmt: skip


@lru_cache(maxsize=4)
def plan_of(text: str) -> Plan:
    """The plan of a map that was checked before."""
    return Plan(text)
