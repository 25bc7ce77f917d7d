"""The store on real files."""

from __future__ import annotations

import base64
import errno
import os
import secrets
import sqlite3 as stdlib_sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pysqlite3 import dbapi2 as sqlite3

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.core.core import BackendFacts, Core, Rules
from supervisor.errors import StoreError
from supervisor.store import folder, schema, store
from supervisor.store.store import Batch, Process, Prompt, Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "office.db"


class Life:
    """A core whose every decision is committed."""

    def __init__(self, path: Path) -> None:
        self.store = Store(path)
        rules = Rules(office_id=self.store.office_id, backends={"fake": BackendFacts()}, default_backend="fake")
        self.core = Core(rules, self.store.load())
        self.now = 1000.0

    def tell(self, given: Any) -> None:
        self.now += 1
        decision = self.core.decide(given, self.now)
        asks = [f for f in decision.effects if isinstance(f, effects.Ask)]
        prompts = [Prompt(ask_id=f.ask_id, agent_id=f.agent_id, prompt=f.prompt) for f in asks]
        self.store.commit(Batch(at=self.now, events=decision.events, prompts=prompts))

    def talk(self, count: int) -> None:
        people = tuple(inputs.AgentConfig(name=n, role=n) for n in ("Ann", "Ben"))
        limits = e.Settings(response_delay=0)
        self.tell(inputs.StartRoom(name="R", settings=limits, agents=people, auto=True, topic="Tea?"))
        for number in range(count):
            (ask_id,) = self.core.state.asks
            self.tell(inputs.TurnOver(ask_id=ask_id, status="answered", signal="transcript", text=f"say {number}"))

    def rows(self, statement: str) -> list[Any]:
        return list(self.store._connection.execute(statement))


def test_events_are_kept_in_order_and_give_the_state_again(path: Path) -> None:
    """C9: after a restart everything is as it was."""
    life = Life(path)
    life.talk(5)
    state = life.core.state
    life.store.close()
    again = Life(path)
    assert again.core.state == state
    seqs = [seq for (seq,) in again.rows("SELECT seq FROM events ORDER BY seq")]
    assert seqs == list(range(1, len(seqs) + 1))
    assert again.store.office_id == life.store.office_id
    again.store.close()


def test_what_was_said_and_heard_stands_in_agent_conversations(path: Path) -> None:
    """C9: one row for what an agent says, one for each message it was prompted with."""
    life = Life(path)
    life.talk(3)
    rows = life.rows("SELECT agent_id, sender, content, recipient FROM agent_conversations ORDER BY id")
    assert rows == [
        ("agent_001", "topic", "Tea?", "agent_001"),
        ("agent_001", "agent_001", "say 0", "agent_002,player_0"),
        ("agent_002", "topic", "Tea?", "agent_002"),
        ("agent_002", "agent_001", "say 0", "agent_002"),
        ("agent_002", "agent_002", "say 1", "agent_001,player_0"),
        ("agent_001", "agent_002", "say 1", "agent_001"),
        ("agent_001", "agent_001", "say 2", "agent_002,player_0"),
        ("agent_002", "agent_001", "say 2", "agent_002"),
    ]
    life.store.close()


def test_states_and_tasks_have_their_tables(path: Path) -> None:
    """C5, C9."""
    life = Life(path)
    life.talk(1)
    life.tell(inputs.AssignTask(agent_id="agent_001", task_name="boil water"))
    life.tell(inputs.CompleteTask(task_id=1))
    history = life.rows("SELECT old_state, new_state FROM agent_state_history WHERE agent_id='agent_001' ORDER BY id")
    assert history[:4] == [
        ("idle", "listening"), ("listening", "thinking"), ("thinking", "speaking"), ("speaking", "idle"),
    ]  # fmt: skip
    ((name, status, done),) = life.rows("SELECT task_name, status, completed_at FROM agent_tasks")
    assert (name, status, done) == ("boil water", "completed", life.now)
    life.store.close()


def test_the_ledger_follows_a_prompt(path: Path) -> None:
    """E6: queued, written, seen, answered; what has ended is not written over."""
    life = Life(path)
    life.talk(1)
    done, _ = [ask for (ask,) in life.rows("SELECT ask_id FROM prompts ORDER BY queued_at")]
    (open_one,) = life.store.open_prompts().values()
    assert open_one.status == "queued"
    assert "say 0" in open_one.prompt
    for status in ("written", "seen"):
        life.store.commit(Batch(at=1.0, progress=[(open_one.ask_id, status), (done, status)]))
        assert life.store.open_prompts()[open_one.ask_id].status == status
    life.store.commit(Batch(at=2.0, progress=[(open_one.ask_id, "written")]))  # once more, to a CLI that had ended
    assert life.store.open_prompts()[open_one.ask_id].status == "seen"
    assert life.rows(f"SELECT status FROM prompts WHERE ask_id = '{done}'") == [("answered",)]
    life.store.close()


def test_a_start_does_not_grow_with_history(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a snapshot only the events behind it are applied."""
    life = Life(path)
    life.talk(10)
    life.store.commit(Batch(at=1.0, snapshot=msgspec.json.encode(life.core.state)))
    life.tell(inputs.AssignTask(agent_id="agent_001", task_name="later"))
    applied = []
    monkeypatch.setattr(store, "apply", lambda state, event: applied.append(event))
    life.store.load()
    assert len(applied) == 1
    life.store.close()


def test_a_snapshot_of_another_version_is_passed_over(path: Path) -> None:
    life = Life(path)
    life.talk(2)
    life.store._connection.execute('INSERT INTO snapshots VALUES (3, \'{"seq":"three"}\')')
    assert life.store.load() == life.core.state
    life.store.close()


def test_a_commit_that_fails_leaves_nothing_and_can_be_repeated(path: Path) -> None:
    """A full disk: all or nothing."""
    life = Life(path)
    life.talk(1)
    pages = life.rows("PRAGMA page_count")[0][0]
    life.store._connection.execute(f"PRAGMA max_page_count = {pages}")
    decision = life.core.decide(inputs.AssignTask(agent_id="agent_001", task_name="x" * 400), 5.0)
    batch = Batch(at=5.0, events=decision.events, prompts=[Prompt(ask_id="a", agent_id="b", prompt="y" * 100_000)])
    with pytest.raises(sqlite3.OperationalError, match="full"):
        life.store.commit(batch)
    assert life.rows("SELECT COUNT(*) FROM agent_tasks") == [(0,)]
    life.store._connection.execute("PRAGMA max_page_count = 100000")
    life.store.commit(batch)
    assert life.store.load() == life.core.state
    life.store.close()


def test_offsets_processes_and_answers_are_kept(path: Path) -> None:
    life = Store(path)
    life.commit(Batch(
        at=1.0, tails=[("s", "a", 10, b"x\xff")], started=[Process(agent_id="a", pid=5, born=1.5)],
        answers={("c", "r"): '{"type":"ack"}'},
    ))  # fmt: skip
    life.commit(Batch(at=2.0, tails=[("s", "a", 20, b"y")], answers={("c", "r"): "another"}))
    assert life.tails() == {"s": (20, b"y")}
    assert life.processes() == [Process(agent_id="a", pid=5, born=1.5)]
    assert life.requests() == {("c", "r"): '{"type":"ack"}'}
    life.commit(Batch(at=3.0, ended=["a"]))
    assert life.processes() == []
    life.close()


def test_it_is_as_safe_as_it_can_be(path: Path) -> None:
    life = Store(path)
    assert sqlite3.sqlite_version_info >= store.OLDEST_SQLITE
    assert life._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert life._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert path.stat().st_mode & 0o077 == 0
    life.close()


def test_an_old_sqlite_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "OLDEST_SQLITE", (99, 0, 0))
    with pytest.raises(StoreError, match="can damage data"):
        Store(path)


def test_migrations_can_be_run_again(path: Path) -> None:
    """C9: opening twice changes nothing."""
    for _ in range(2):
        Store(path).close()
    names = {
        row[0] for row in stdlib_sqlite3.connect(path).execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    assert {"agent_conversations", "agent_tasks", "agent_state_history", "events", "prompts"} <= names


def test_a_database_of_a_newer_version_is_refused_and_untouched(path: Path) -> None:
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = path.read_bytes(), sorted(path.parent.iterdir())
    for opened in (Store, store.read_only):
        with pytest.raises(StoreError, match="newer version"):
            opened(path)
    assert (path.read_bytes(), sorted(path.parent.iterdir())) == before


@pytest.mark.parametrize("content", [b"not a database at all, but long enough", b"SQLite format 3\0" + b"x" * 200])
def test_a_file_that_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError):
        Store(path)
    assert path.read_bytes() == content


def test_one_owner_at_a_time(tmp_path: Path) -> None:
    here = folder.StateFolder(tmp_path / "state")
    with here.locked(), pytest.raises(StoreError, match="already: stop it with `supervisor stop`"), here.locked():
        pass
    with here.locked():
        pass


def test_tokens_outlive_a_restart_and_are_for_nobody_else(tmp_path: Path) -> None:
    here = folder.StateFolder(tmp_path)
    first = here.tokens()
    assert here.tokens() == first
    assert here.tokens("mine").operator == "mine"
    assert (tmp_path / "tokens.json").stat().st_mode & 0o777 == 0o600


def test_tokens_cannot_be_guessed_and_short_ones_of_old_are_made_anew(tmp_path: Path) -> None:
    here = folder.StateFolder(tmp_path)
    path = tmp_path / "tokens.json"
    path.write_text('{"operator": "abc", "viewer": "def"}')
    path.chmod(0o644)
    made = here.tokens()
    for token in (made.operator, made.viewer):
        assert len(base64.urlsafe_b64decode(token + "=")) * 8 >= 256
    assert made.operator != made.viewer
    path.chmod(0o644)
    assert here.tokens() == made
    assert path.stat().st_mode & 0o777 == 0o600
    assert here.rotate() != made


def test_a_state_folder_is_closed_to_others_unless_it_holds_what_is_not_ours(tmp_path: Path) -> None:
    for theirs, mode in ((False, 0o700), (True, 0o755)):
        path = tmp_path / str(theirs)
        path.mkdir(mode=0o755)
        (path / "office.db").touch()
        if theirs:
            (path / "thesis.tex").touch()
        folder.StateFolder(path).make()
        assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_in_is_refused(tmp_path: Path, mode: int) -> None:
    """One line that says what to do; one in which there is nothing yet is closed and used."""
    path = tmp_path / "state"
    path.mkdir()
    path.chmod(mode)
    folder.StateFolder(path).make()
    assert path.stat().st_mode & 0o7777 == 0o700
    (path / "tokens.json").touch()
    path.chmod(mode)
    with pytest.raises(StoreError, match=r"^Others may write in the state folder .*`chmod go-w .*state`\.$"):
        folder.StateFolder(path).make()
    assert path.stat().st_mode & 0o7777 == mode


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(StoreError, match="belongs to somebody else: choose another with --state-dir"):
        folder.StateFolder(tmp_path).make()


def test_no_draft_follows_a_link_or_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where somebody knew its name; and what stands in the place of a file goes, and not what it leads to."""
    precious, here = tmp_path / "precious", folder.StateFolder(tmp_path / "state")
    here.make()
    precious.write_text("mine")
    (here.path / "tokens.json").symlink_to(precious)
    for old in (f"tokens.json.{os.getpid()}", f".probe-{os.getpid()}", f"open.html.{os.getpid()}"):
        (here.path / old).symlink_to(precious)
    here.make()
    tokens = here.rotate()
    assert here.tokens() == tokens
    here.write(here.path / "open.html", b"page")
    assert (here.path / "open.html").stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(secrets, "token_hex", lambda _: "known")
    (here.path / ".open.html.known").symlink_to(precious)
    with pytest.raises(FileExistsError):
        here.write(here.path / "open.html", b"page")
    assert precious.read_text() == "mine"
    (here.path / ".open.html.known").unlink()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        here.write(here.path / "open.html", b"page")
    assert not [*here.path.glob(".open*")]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="choose another with --state-dir"):
        folder.StateFolder(tmp_path / "file" / "state").make()


def test_a_newer_version_is_also_seen_in_the_log_beside_the_file(path: Path) -> None:
    """It was written and not yet moved into the file itself: refused, and nothing is touched."""
    Store(path).close()
    writer = stdlib_sqlite3.connect(path)
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute("PRAGMA user_version = 99")
    before = {name: (path.parent / name).read_bytes() for name in ("office.db", "office.db-wal")}
    assert int.from_bytes(before["office.db"][60:64], "big") == schema.VERSION
    with pytest.raises(StoreError, match="newer version"):
        Store(path)
    assert {name: (path.parent / name).read_bytes() for name in before} == before
    writer.close()


def test_somebody_elses_database_is_not_touched(path: Path) -> None:
    other = stdlib_sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.execute("PRAGMA user_version = 1")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is not ours"):
        Store(path)
    assert path.read_bytes() == before


def test_events_since_the_last_snapshot_are_counted_over_restarts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is killed, a start does not grow with history."""
    monkeypatch.setattr(store, "SNAPSHOT_EVERY", 30)
    for _ in range(8):
        life = Life(path)
        life.tell(inputs.CreateRoom(name="r"))
        life.tell(inputs.CreateRoom(name="r"))
        life.tell(inputs.CreateRoom(name="r"))
        life.tell(inputs.CreateRoom(name="r"))
        wants = life.store.wants_snapshot
        life.store.close()
    assert wants


def test_a_note_that_was_left_behind_is_not_believed(tmp_path: Path) -> None:
    """Of a server that was killed: its number may be somebody else's by now."""
    place = folder.StateFolder(tmp_path / "state")
    note = folder.ServerNote(pid=1, url="u", ws_url="w", token="t", view_token="v")
    with place.locked():
        place.write(tmp_path / "state" / "server.json", msgspec.json.encode(note))
        assert place.note() == note
        assert place.running() is None
        assert place.held() == os.getpid()
    assert place.held() is None
    with place.locked():
        assert place.note() is None


def test_everything_said_is_found_by_its_words(path: Path) -> None:
    """C9: also what was said outside of rooms; the newest first, the last word may be only begun."""
    life = Life(path)
    life.talk(3)
    speech = e.AgentSpoke(seq=life.core.state.seq + 1, at=2000.0, agent_id="agent_001", name="Ann",
                          content="Déjà vu, said the cat.", recipients=["agent_002"])  # fmt: skip
    life.store.commit(Batch(at=2000.0, events=[speech]))
    assert [row["content"] for row in life.store.search("say")] == ["say 2", "say 1", "say 0"]
    (found,) = life.store.search("deja vu sa")
    assert (found["author_name"], found["room_id"]) == ("Ann", "")
    assert [row["content"] for row in life.store.search("tea")] == ["Tea?"]
    assert life.store.search("joined") == []
    for odd in ("", "  ", '"', "* OR", "NEAR(", "col:x"):
        assert life.store.search(odd) == []
    assert len(life.store.search("say", "room_001", 2)) == 2
    assert life.store.search("say", "room_009") == []


def test_an_older_database_is_brought_up_to_date_with_all_that_was_said(path: Path) -> None:
    """C9: from the first version; running it again changes nothing."""
    life = Life(path)
    life.talk(3)
    for statement in ("DROP TABLE said", "DELETE FROM _sqlite_migrations WHERE name = 'm002_search'",
                      "PRAGMA user_version = 1"):  # fmt: skip
        life.store._connection.execute(statement)
    life.store.close()
    with pytest.raises(StoreError, match="start the server once"):
        store.search(store.read_only(path), "say")
    for _ in range(2):
        again = Store(path)
        assert len(again.search("say")) == 3
        assert again._connection.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
        again.close()


def test_a_damaged_database_is_refused_with_advice_and_untouched(path: Path) -> None:
    """C9."""
    life = Life(path)
    life.talk(300)
    life.store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    life.store.close()
    data = bytearray(path.read_bytes())
    data[8192:20480] = b"\xa5" * (20480 - 8192)
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"is damaged .* put a backup in its place"):
        Store(path)
    assert path.read_bytes() == data
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_backup_is_whole_also_during_writes(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C9: it opens by itself, holds everything that was committed, and is for nobody else to read."""
    life = Life(path)
    life.talk(20)
    copy = tmp_path / "copy.db"
    store.back_up(path, copy)
    life.tell(inputs.StopAutoMode())
    assert copy.stat().st_mode & 0o777 == 0o600
    again = Store(copy)
    assert again.load().seq < life.core.state.seq
    assert len(again.search("say")) == 20
    monkeypatch.chdir(tmp_path)
    store.back_up(path, Path("file:odd name.db"))
    assert (tmp_path / "file:odd name.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreError, match="is there already"):
        store.back_up(path, copy)
    with pytest.raises(StoreError, match="cannot be written"):
        store.back_up(path, tmp_path / "missing" / "copy.db")


def test_old_closed_rooms_are_forgotten_and_the_rest_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retention: what the state is made of stays, and so do the last events."""
    monkeypatch.setattr(store, "KEPT_EVENTS", 5)
    life = Life(path)
    life.talk(5)
    life.tell(inputs.CloseRoom(room_id="room_001"))
    life.talk(2)
    life.store.commit(Batch(at=life.now, snapshot=msgspec.json.encode(life.core.state)))
    assert life.store.forget(0.0) == 0
    state = life.store.load()
    assert life.store.forget(life.now + 1) > 0
    assert [row["content"] for row in life.store.search("say")] == ["say 1", "say 0"]
    assert life.rows("SELECT id FROM rooms") == [("room_002",)]
    assert life.store.load() == state
    life.store._connection.execute("UPDATE snapshots SET body = json_set(body, '$.agents', 5)")
    with pytest.raises(StoreError, match="the version that wrote it"):
        life.store.load()
    newest = life.rows("SELECT seq FROM events ORDER BY seq DESC LIMIT 5")
    assert newest[0] == (state.seq,)
    assert len(newest) == 5
