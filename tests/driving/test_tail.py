"""The tail against real files: appearing, growing, truncated, replaced, and no file at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
import trio
from support import eventually, texts

from supervisor.driving.backends.claude_lines import ClaudeTranscript
from supervisor.driving.tail import Bookmark, Tail
from supervisor.driving.transcript import Transcript
from supervisor.driving.watcher import Watcher
from supervisor.records import AnyRecord, Damage, Note

if TYPE_CHECKING:
    from pathlib import Path


def line(text: str) -> bytes:
    message = {"id": text, "model": "m", "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "assistant", "uuid": f"u-{text}", "sessionId": "s", "message": message}).encode() + b"\n"


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


class Followed:
    """A file and a tail on it, without tasks: `read` until there is no more."""

    def __init__(self, path: Path, bookmark: Bookmark | None = None) -> None:
        self.path = path
        self.records: list[AnyRecord] = []
        transcript = Transcript(ClaudeTranscript(), bookmark.offset if bookmark else 0)
        self.tail = Tail(lambda: path if path.exists() else None, transcript, self.records.append, bookmark)

    def append(self, data: bytes) -> Followed:
        append(self.path, data)
        return self

    def read(self) -> list[str]:
        """The texts that are new."""
        before = len(self.records)
        while self.tail.read():
            pass
        return texts(self.records[before:])

    @property
    def notes(self) -> list[str]:
        return [record.text for record in self.records if isinstance(record, Note)]


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    return Followed(tmp_path / "t.jsonl")


def test_it_waits_for_the_file_and_follows_it(followed: Followed) -> None:
    """E3: nothing there is nothing read; half a line waits for the rest."""
    assert followed.read() == []
    assert followed.append(line("one") + line("two")[:30]).read() == ["one"]
    assert followed.append(line("two")[30:]).read() == ["two"]
    assert followed.read() == []
    assert followed.tail.path == followed.path


def test_utf8_split_between_two_reads(followed: Followed) -> None:
    """E3: a character that came in two pieces is one character."""
    whole = json.dumps(
        {"type": "assistant", "uuid": "u", "sessionId": "s", "message": {"content": "né"}}, ensure_ascii=False
    )
    data = whole.encode() + b"\n"
    cut = data.index(b"\xa9")
    followed.append(data[:cut]).read()
    assert followed.append(data[cut:]).read() == ["né"]


def test_a_truncated_file_is_read_from_its_beginning(followed: Followed) -> None:
    """E3: what was said before does not come twice, what is new does."""
    followed.append(line("one") + line("two")).read()
    followed.path.write_bytes(line("one"))
    assert followed.append(line("three")).read() == ["three"]
    assert any("written anew" in note for note in followed.notes)


def test_truncated_and_regrown_beyond_where_we_were(followed: Followed) -> None:
    """E3: the size alone does not show it, the bytes before the offset do."""
    followed.append(line("one")).read()
    followed.path.write_bytes(line("other") + line("more") * 1 + line("and more"))
    assert followed.read() == ["other", "more", "and more"]


def test_a_replaced_file(followed: Followed, tmp_path: Path) -> None:
    """E3: the rest of the old one is read before the new one."""
    followed.append(line("one")).read()
    followed.append(line("last words"))
    new = tmp_path / "new"
    new.write_bytes(line("one") + line("two"))
    os.replace(new, followed.path)
    assert followed.read() == ["last words", "two"]


def test_deleted_and_created_again(followed: Followed) -> None:
    """E3: in between, the open file is still followed."""
    followed.append(line("one")).read()
    followed.path.unlink()
    assert followed.read() == []
    assert followed.append(line("two")).read() == ["two"]


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder"])
def test_what_is_no_plain_file_is_not_read(followed: Followed, tmp_path: Path, kind: str) -> None:
    """E3: no following of links, no hanging in a pipe; it says so once, and goes on when the file is back."""
    followed.append(line("one")).read()
    followed.path.unlink()
    if kind == "symlink":
        (tmp_path / "secret").write_bytes(line("secret"))
        followed.path.symlink_to(tmp_path / "secret")
    elif kind == "fifo":
        os.mkfifo(followed.path)
    else:
        followed.path.mkdir()
    assert followed.read() == []
    assert followed.read() == []
    assert len([note for note in followed.notes if "plain file" in note]) == 1
    followed.path.rmdir() if kind == "folder" else followed.path.unlink()
    assert followed.append(line("two")).read() == ["two"]


def test_a_fifo_from_the_start_does_not_hang(followed: Followed) -> None:
    os.mkfifo(followed.path)
    assert followed.read() == []


def test_a_file_that_may_not_be_read(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    """E3: a note, no exception, and another try later."""
    followed.append(line("one"))
    real = os.open

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert followed.read() == []
    assert "Permission denied" in followed.notes[0]
    monkeypatch.setattr(os, "open", real)
    assert followed.read() == ["one"]


def test_a_bookmark_goes_on_where_it_was(followed: Followed) -> None:
    """E3, E6: after a restart, half a line that was read before is read again, and nothing else."""
    followed.append(line("one") + line("two")[:20]).read()
    mark = followed.tail.bookmark()
    followed.append(line("two")[20:])
    assert Followed(followed.path, mark).read() == ["two"]


def test_a_bookmark_into_a_file_that_changed(followed: Followed) -> None:
    """E3, E6: truncated and regrown while nobody was reading: everything is read, nothing is skipped."""
    followed.append(line("one") + line("two")).read()
    mark = followed.tail.bookmark()
    followed.path.write_bytes(line("alpha") + line("beta") + line("gamma"))
    again = Followed(followed.path, mark)
    assert again.read() == ["alpha", "beta", "gamma"]
    assert any("nobody was reading" in note for note in again.notes)


def test_a_bookmark_does_not_vouch_for_what_was_not_read(followed: Followed) -> None:
    """E6: written anew between the last look and the bookmark: the next reader begins at the beginning."""
    followed.append(line("one") + line("two")).read()
    followed.path.write_bytes(line("alpha") + line("beta") + line("gamma"))
    assert Followed(followed.path, followed.tail.bookmark()).read() == ["alpha", "beta", "gamma"]


def test_a_replaced_file_that_cannot_be_opened_at_first(
    followed: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E3: it is read from its beginning when it can be."""
    followed.append(line("one") + line("two")).read()
    new = tmp_path / "new"
    new.write_bytes(line("alpha") + line("beta") + line("gamma"))
    os.replace(new, followed.path)
    real = os.open

    def refuse(*_: object, **__: object) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "open", refuse)
    assert followed.read() == []
    monkeypatch.setattr(os, "open", real)
    assert followed.read() == ["alpha", "beta", "gamma"]


def test_a_bookmark_before_there_was_a_file(followed: Followed) -> None:
    assert followed.tail.bookmark() == Bookmark()
    assert followed.append(line("one")).read() == ["one"]


def test_half_a_line_is_named_when_the_file_begins_anew(followed: Followed) -> None:
    followed.append(line("one") + b'{"half').read()
    followed.path.write_bytes(line("two"))
    assert followed.read() == ["two"]
    assert [record.length for record in followed.records if isinstance(record, Damage)] == [6]


async def test_the_watcher_wakes_the_tail(tmp_path: Path) -> None:
    """E3: with a rescan that is an hour away, a change is still seen at once, also in a folder that is made later."""
    root, records = tmp_path / "projects", list[AnyRecord]()
    path = root / "deep" / "er" / "t.jsonl"
    tail = Tail(lambda: path if path.exists() else None, Transcript(ClaudeTranscript()), records.append, rescan=3600)
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            watcher = Watcher()
            await nursery.start(watcher.run)
            with watcher.watching(root, tail.nudge):
                await nursery.start(tail.run)
                assert root.is_dir()
                path.parent.mkdir(parents=True)
                early = 0
                while not texts(records):  # the first writes in a new folder may be missed, as is known
                    early += 1
                    append(path, line(f"early {early}"))
                    with trio.move_on_after(0.5):
                        await eventually(lambda: texts(records))
                for number in range(20):
                    append(path, line(str(number)))
                    await eventually(lambda n=number: str(n) in texts(records))  # type: ignore[misc]  # bound here
            nursery.cancel_scope.cancel()


async def test_the_rescan_finds_what_nobody_announced(tmp_path: Path) -> None:
    """E3: without any watcher the file is read all the same."""
    path, records = tmp_path / "t.jsonl", list[AnyRecord]()
    tail = Tail(lambda: path if path.exists() else None, Transcript(ClaudeTranscript()), records.append, rescan=0.02)
    async with trio.open_nursery() as nursery:
        await nursery.start(tail.run)
        path.write_bytes(line("one"))
        await eventually(lambda: texts(records) == ["one"])
        nursery.cancel_scope.cancel()


async def test_a_cancelled_tail_closes_its_file(tmp_path: Path) -> None:
    """Rule 4: every file has one owner and ends with it."""
    path, records = tmp_path / "t.jsonl", list[AnyRecord]()
    path.write_bytes(line("one"))
    before = len(os.listdir("/proc/self/fd"))
    tail = Tail(lambda: path, Transcript(ClaudeTranscript()), records.append, rescan=0.02)
    async with trio.open_nursery() as nursery:
        await nursery.start(tail.run)
        await eventually(lambda: records)
        nursery.cancel_scope.cancel()
    assert tail.bookmark().offset == len(line("one"))
    assert not tail.read()
    assert len(os.listdir("/proc/self/fd")) <= before
