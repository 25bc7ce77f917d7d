"""`supervisor task`, `history --search` and `backup`, as somebody would run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support import server, supervisor

if TYPE_CHECKING:
    from pathlib import Path


def test_tasks_are_given_listed_and_done(tmp_path: Path) -> None:
    """C11: by name or id, against a running server; the list is there also without one."""
    with server(tmp_path, "--auto", "--topic", "Is maths discovered or invented?") as started:
        where = ("--state-dir", str(started.folder))
        done = supervisor("task", "add", "ada", "draw the map", *where)
        assert (done.returncode, done.stdout) == (0, "ada has it.\n"), done.stderr
        assert supervisor("task", "add", "agent_002", "check it", *where).returncode == 0
        assert "draw the map" in supervisor("agents", *where).stdout
        assert supervisor("task", "done", "1", *where).stdout == "Task 1 is done.\n"
        again = supervisor("task", "done", "1", *where)
        assert (again.returncode, again.stderr) == (1, "supervisor: There is no open task 1.\n")
        nobody = supervisor("task", "add", "Zoe", "x", *where)
        assert (nobody.returncode, nobody.stderr) == (
            2, "supervisor: There is no agent 'Zoe': `supervisor agents` lists them.\n"
        )  # fmt: skip
    listed = supervisor("task", "list", *where).stdout.splitlines()
    assert [line.split()[:3] for line in listed[1:]] == [["1", "Ada", "completed"], ["2", "Bo", "assigned"]]
    away = supervisor("task", "add", "Ada", "x", *where)
    assert away.returncode == 1
    assert "start one with `supervisor start`" in away.stderr


def test_what_was_said_is_found_and_backed_up(tmp_path: Path) -> None:
    """C9: words in any order of rooms; a copy can be started from."""
    where = ("--state-dir", str(tmp_path / "s"))
    assert supervisor("talk", "Is maths discovered or invented?", "--turns", "2", "--seed", "1", *where).returncode == 0
    found = supervisor("history", "--search", "maths", *where)
    assert found.returncode == 0, found.stderr
    assert "Is maths discovered or invented?" in found.stdout
    assert supervisor("history", "--search", "xylophone", *where).stdout == "Nothing was found.\n"
    copy = tmp_path / "t" / "office.db"
    copy.parent.mkdir()
    assert supervisor("backup", str(copy), *where).returncode == 0
    assert supervisor("history", "--search", "maths", "--state-dir", str(copy.parent)).stdout == found.stdout
    twice = supervisor("backup", str(copy), *where)
    assert (twice.returncode, twice.stderr) == (1, f"supervisor: {copy} is there already: choose another name.\n")
