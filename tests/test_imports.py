"""Imports point down: from the commands to the errors, never the other way."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEVELS = [
    {"cli"},
    {"client", "runtime"},
    {"server"},
    {"driving", "store", "bus"},
    {"threads"},
    {"core"},
    {"config"},
    {"events"},
    {"records"},
    {"errors"},
]
RANK = {name: rank for rank, names in enumerate(LEVELS) for name in names}
PURE = {"core", "config", "events", "records", "errors"}
IMPURE_MODULES = {"trio", "sqlite3", "sqlite_utils", "websockets", "subprocess", "socket", "time", "watchfiles"}


def modules() -> list[Path]:
    return sorted((ROOT / "supervisor").rglob("*.py"))


def part_of(path: Path) -> str:
    """The part of the house a file belongs to."""
    relative = path.relative_to(ROOT / "supervisor")
    return relative.parts[0].removesuffix(".py")


def imports(tree: ast.AST, path: Path) -> Iterator[str]:
    """The absolute names of everything a module imports."""
    package = ["supervisor", *path.relative_to(ROOT / "supervisor").parent.parts]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def upward(source: str, path: Path) -> list[str]:
    """What a module imports from above itself."""
    mine = part_of(path)
    found = []
    for name in imports(ast.parse(source), path):
        parts = name.split(".")
        if parts[0] == "supervisor" and len(parts) > 1 and parts[1] in RANK and mine in RANK:
            other = parts[1]
            if other != mine and RANK[other] <= RANK[mine]:
                found.append(name)
    return found


def impure(source: str, path: Path) -> list[str]:
    if part_of(path) not in PURE:
        return []
    return [name for name in imports(ast.parse(source), path) if name.split(".")[0] in IMPURE_MODULES]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    """No module imports from its own level's neighbours or from above."""
    assert upward(path.read_text(), path) == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_pure_parts_touch_nothing(path: Path) -> None:
    """Below `driving` nobody imports a clock, a process, a file watcher, a database or a socket."""
    assert impure(path.read_text(), path) == []


def test_every_module_has_its_level() -> None:
    """A new part of the house has to be given its place here."""
    assert {part_of(path) for path in modules()} - {"__init__", "__main__"} <= set(RANK)


@pytest.mark.parametrize("place", ["supervisor/core", "supervisor/store", "supervisor/server", "office_view"])
def test_nothing_below_the_backends_names_a_cli(place: str) -> None:
    """What a particular CLI is called is its backend's business (E5)."""
    for path in (ROOT / place).rglob("*"):
        if path.suffix in (".py", ".js", ".html"):
            words = path.read_text(encoding="utf-8").lower()
            assert not [name for name in ("claude", "codex", "gemini", "opencode") if name in words], path


def test_the_check_can_fail() -> None:
    """An import that points up, or makes a pure part impure, is found."""
    path = ROOT / "supervisor" / "driving" / "x.py"
    assert upward("from supervisor.runtime import x", path) == ["supervisor.runtime", "supervisor.runtime.x"]
    assert upward("from ..cli import talk", path) == ["supervisor.cli", "supervisor.cli.talk"]
    assert upward("from supervisor.records import Text", path) == []
    assert impure("import trio", ROOT / "supervisor" / "records.py") == ["trio"]


def test_the_fake_cli_stands_alone() -> None:
    """It must run without the supervisor, and with the standard library only."""
    for path in (ROOT / "agents" / "fake_cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not {name.split(".")[0] for name in names} & {"supervisor", "trio", "msgspec", "psutil", "click"}
