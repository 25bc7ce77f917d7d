"""The one writer: everything that one step of the loop decided, in one transaction, or not at all; and, on a connection
of its own, what is asked by those who only look.

Blocking; the runtime calls it in a thread: of what writes, and of what answers questions, one call at a time.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from typing import TYPE_CHECKING, Any

import msgspec
from pysqlite3 import dbapi2 as sqlite3
from sqlite_utils import Database

from supervisor import events as e
from supervisor.core.apply import apply
from supervisor.core.state import State
from supervisor.errors import StoreError

from . import schema
from .tables import PROJECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OLDEST_SQLITE = (3, 51, 3)
"""WAL mode could corrupt data before."""
MAGIC = b"SQLite format 3\0"
LOCKED_SECONDS = 10.0
"""How long another program's write is waited for."""
SNAPSHOT_EVERY = 2000
KEPT_EVENTS = 20_000
"""The last events are kept in any case: viewers come back to them."""
KEPT_REQUESTS = 10_000
LEDGER_TIMES = {"written": "written_at", "seen": "seen_at"}


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A CLI that was started: pid and time of birth name it for ever."""

    agent_id: str
    pid: int
    born: float


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the ledger: queued → written → seen → answered, failed or interrupted."""

    ask_id: str
    agent_id: str
    prompt: str
    status: str = "queued"


class Batch(msgspec.Struct, kw_only=True):
    """What one step of the loop leaves behind."""

    at: float
    events: list[e.AnyEvent] = []
    prompts: list[Prompt] = []
    progress: list[tuple[str, str]] = []
    """Asks that were written, or seen in the transcript."""
    tails: list[tuple[str, str, int, bytes]] = []
    """Session, agent, offset, and the bytes before it."""
    started: list[Process] = []
    ended: list[str] = []
    answers: dict[tuple[str, str], str] = {}
    """What a request of a client was answered."""
    snapshot: bytes = b""
    numbers: dict[str, float] = {}
    """What is kept beside the events, 0 for no longer: `alive_at`, the last sign of life while running time passes and
    nothing happens; `left_at`, when those were left who sleep while others talk; `copied`: a copy has not woken."""
    settles: bool = False
    """A copy has become an office of its own."""

    def __bool__(self) -> bool:
        return bool(
            self.events or self.prompts or self.progress or self.tails or self.started or self.ended or self.answers
            or self.snapshot or self.numbers or self.settles
        )  # fmt: skip


class Stamp(msgspec.Struct):
    """What of a snapshot says where it belongs."""

    seq: int


class Store:
    """The database of one state folder."""

    def __init__(self, path: Path, place: str = "") -> None:
        """`place` is what tells the folder from all others; a database that comes from elsewhere is a `copy`."""
        self.path = path
        self._connection = connect(path)
        self._reading = connect_to_read(path)
        self.office_id = meta(self._connection, "office_id")
        self._place = place
        known = meta(self._connection, "place")
        moved = bool(place and known) and known != place
        self.copy = moved or bool(self.number("copied"))
        """Its processes and sessions are another office's; a batch that `settles` gives it an identity of its own."""
        if moved:
            self.office_id = secrets.token_hex(16)
        elif place and not known:
            self._connection.execute("INSERT INTO meta VALUES ('place', ?)", (place,))
        row = self._connection.execute("SELECT COALESCE((SELECT MAX(seq) FROM events), 0) - "
                                       "COALESCE((SELECT MAX(seq) FROM snapshots), 0)").fetchone()  # fmt: skip
        self._since_snapshot = int(row[0])

    def close(self) -> None:
        self._reading.close()
        self._connection.close()

    # -- writing --------------------------------------------------------------------------------------------------

    def commit(self, batch: Batch) -> None:
        """Raises sqlite3.Error and leaves everything as it was; the same batch can be tried again."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            self._write(batch)
            execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise
        self._since_snapshot = 0 if batch.snapshot else self._since_snapshot + len(batch.events)

    @property
    def wants_snapshot(self) -> bool:
        return self._since_snapshot >= SNAPSHOT_EVERY

    def _write(self, batch: Batch) -> None:
        many = self._connection.executemany
        if batch.settles:
            many("REPLACE INTO meta VALUES (?, ?)", [("office_id", self.office_id), ("place", self._place)])
            for table in ("processes", "tails"):
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608
        if batch.events:
            facts = [(x.seq, x.at, x.__struct_config__.tag, *e.subject(x), e.encoder.encode(x).decode())
                     for x in batch.events]  # fmt: skip
            many("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", facts)
            for event in batch.events:
                for project in PROJECTIONS.get(type(event), ()):
                    statement, values = project(event)
                    many(statement, values)
        if batch.prompts:
            rows = [(p.ask_id, p.agent_id, p.prompt, batch.at) for p in batch.prompts]
            many("INSERT INTO prompts (ask_id, agent_id, prompt, status, queued_at) VALUES (?,?,?,'queued',?)", rows)
        for ask_id, status in batch.progress:
            column = LEDGER_TIMES[status]
            many(f"UPDATE prompts SET status = IIF(seen_at IS NULL, ?, 'seen'), {column} = ? "  # noqa: S608
                 "WHERE ask_id = ? AND ended_at IS NULL", [(status, batch.at, ask_id)])  # fmt: skip
        over = (event for event in batch.events if isinstance(event, e.TurnEnded | e.AgentDecided))
        ended = [(event.outcome, event.at, event.ask_id) for event in over]
        many("UPDATE prompts SET status = ?, ended_at = ? WHERE ask_id = ?", ended)
        many("INSERT OR REPLACE INTO tails VALUES (?, ?, ?, ?)", batch.tails)
        many("DELETE FROM processes WHERE agent_id = ?", [(agent,) for agent in batch.ended])
        many("INSERT OR REPLACE INTO processes VALUES (?, ?, ?)", [(p.agent_id, p.pid, p.born) for p in batch.started])
        answers = [(*key, answer, batch.at) for key, answer in batch.answers.items()]
        many("INSERT OR IGNORE INTO requests VALUES (?, ?, ?, ?)", answers)
        many("REPLACE INTO meta VALUES (?, ?)", batch.numbers.items())
        if batch.snapshot:
            seq = msgspec.json.decode(batch.snapshot, type=Stamp).seq
            self._connection.execute("DELETE FROM snapshots WHERE seq < ?", (seq,))
            self._connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?)", (seq, batch.snapshot.decode()))
            self._connection.execute(
                "DELETE FROM requests WHERE rowid NOT IN (SELECT rowid FROM requests ORDER BY at DESC LIMIT ?)",
                (KEPT_REQUESTS,),
            )

    # -- reading --------------------------------------------------------------------------------------------------

    def load(self) -> State:
        return load(self._connection)

    def open_prompts(self) -> dict[str, Prompt]:
        rows = self._connection.execute("SELECT ask_id, agent_id, prompt, status FROM prompts WHERE ended_at IS NULL")
        return {a: Prompt(ask_id=a, agent_id=g, prompt=p, status=s) for a, g, p, s in rows}

    def tails(self) -> dict[str, tuple[int, bytes]]:
        return {s: (o, b) for s, o, b in self._connection.execute("SELECT session_id, offset, before FROM tails")}

    def processes(self) -> list[Process]:
        rows = self._connection.execute("SELECT agent_id, pid, born FROM processes")
        return [Process(agent_id=a, pid=p, born=b) for a, p, b in rows]

    def requests(self) -> dict[tuple[str, str], str]:
        rows = self._connection.execute("SELECT client_id, request_id, answer FROM requests ORDER BY at")
        return {(client, request): answer for client, request, answer in rows}

    def number(self, key: str) -> float:
        """One of those that are kept beside the events; 0 where there is none."""
        return float(meta(self._connection, key) or 0)

    def forget(self, before: float) -> int:
        """What was said in rooms that were closed before a time, and the traces of agents up to then; returns how many
        messages. What the state is made of stays, and so do the last events, for viewers who come back."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            closed = "(SELECT id FROM rooms WHERE closed_at IS NOT NULL AND closed_at < ?)"
            latest = execute("SELECT COALESCE((SELECT MAX(seq) FROM snapshots), 0)").fetchone()[0]
            kept = max(0, min(latest, execute("SELECT COALESCE(MAX(seq), 0) FROM events").fetchone()[0] - KEPT_EVENTS))
            gone = execute(f"DELETE FROM messages WHERE room_id IN {closed}", (before,)).rowcount  # noqa: S608
            execute(f"DELETE FROM said WHERE room_id IN {closed} OR (room_id = '' AND at < ?)", (before, before))  # noqa: S608
            execute(f"DELETE FROM events WHERE seq <= ? AND at < ? AND (room_id IS NULL OR room_id IN {closed})",  # noqa: S608
                    (kept, before, before))  # fmt: skip
            for table, column in (("agent_conversations", "timestamp"), ("agent_state_history", "timestamp")):
                execute(f"DELETE FROM {table} WHERE {column} < ?", (before,))  # noqa: S608
            execute("DELETE FROM prompts WHERE ended_at < ?", (before,))
            execute(f"DELETE FROM rooms WHERE id IN {closed}", (before,))  # noqa: S608
            execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise
        return int(gone)

    # -- answering, also while something is written ----------------------------------------------------------------

    def events(self, after: int, until: int | None = None) -> list[str]:
        """The stored events as they go over the wire, in order."""
        rows = self._reading.execute(
            "SELECT body FROM events WHERE seq > ? AND seq <= ? ORDER BY seq", (after, until or 1 << 62)
        )
        return [body for (body,) in rows]

    def message(self, message_id: str) -> dict[str, Any] | None:
        rows = [*Database(self._reading).query("SELECT * FROM messages WHERE id = ?", (message_id,))]
        return _message_row(rows[0]) if rows else None

    def search(self, query: str, room_id: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
        return search(Database(self._reading), query, room_id, limit)

    def history(self, room_id: str, before: int | None, limit: int) -> list[dict[str, Any]]:
        """Messages of a room, the newest `limit` of those before a `seq`, oldest first."""
        return history(Database(self._reading), room_id, before, limit)


def history(db: Database, room_id: str, before: int | None = None, limit: int = -1) -> list[dict[str, Any]]:
    rows = db.query(
        "SELECT * FROM (SELECT * FROM messages WHERE room_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?) ORDER BY seq",
        (room_id, before if before is not None else 1 << 62, limit),
    )
    return [_message_row(row) for row in rows]


def search(db: Database, query: str, room_id: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
    """What was said with all these words in it, the newest first; the last word may be only begun."""
    words = re.findall(r"\w+", query)
    if not words:
        return []
    if "said" not in db.table_names():
        raise StoreError("The database is of an older version: start the server once, and it can be searched.")
    wanted = " ".join(f'"{word}"' for word in words) + "*"
    rows = db.query(
        "SELECT content, author_name, author, room_id, message_id, at, rooms.name AS room FROM said "
        "LEFT JOIN rooms ON rooms.id = said.room_id WHERE said MATCH ? AND (? IS NULL OR room_id = ?) "
        "ORDER BY at DESC LIMIT ?",
        (wanted, room_id, room_id, limit),
    )
    return list(rows)


def _message_row(row: dict[str, Any]) -> dict[str, Any]:
    row["active"] = bool(row["active"])
    row["transcript"] = msgspec.json.decode(row["transcript"]) if row["transcript"] else None
    return row


def load(connection: Any) -> State:
    """The state: the newest snapshot that can be read, and the events after it."""
    state = State()
    for (body,) in connection.execute("SELECT body FROM snapshots ORDER BY seq DESC"):
        try:
            state = msgspec.json.decode(body, type=State)
            break
        except msgspec.ValidationError:  # of another version: the events are enough
            continue
    for seq, body in connection.execute("SELECT seq, body FROM events WHERE seq > ? ORDER BY seq", (state.seq,)):
        if seq != state.seq + 1:  # old ones were let go, and what would have stood for them is of another version
            raise StoreError(
                "Old events were let go (keep_days), and the rest cannot be read by this version: start it with the "
                "version that wrote it, or choose another folder with --state-dir."
            )
        apply(state, e.decoder.decode(body))
    return state


# -- opening ------------------------------------------------------------------------------------------------------


def connect(path: Path) -> Any:
    """A database that is ours, new enough to be safe and old enough to be understood."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} can damage data: install the package again (pysqlite3).")
    refuse_strangers(path)
    refuse_damaged(path)
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=LOCKED_SECONDS)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        path.chmod(0o600)
        with Database(connection).atomic():  # killed half way, it is as it was
            schema.migrations.apply(Database(connection))
            connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
            connection.execute(f"PRAGMA user_version = {schema.VERSION}")
            if not meta(connection, "office_id"):
                connection.execute("INSERT INTO meta VALUES ('office_id', ?)", (secrets.token_hex(16),))
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise StoreError(f"The database {path} cannot be used: {error}.") from None
        raise StoreError(f"The database {path} cannot be used: another program is writing to it; end that.") from None
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"The database {path} cannot be used: {error}.") from None
    return connection


def connect_to_read(path: Path) -> Any:
    """A second connection to a database that is open already; in WAL mode neither ever waits for the other."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=LOCKED_SECONDS)


def meta(connection: Any, key: str) -> str:
    """`office_id` is what tells this office from all others, `place` where it is at home."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else ""


def refuse_strangers(path: Path) -> None:
    """Look at the file before anything is opened, so that it is left exactly as it is."""
    try:
        header = first_bytes(path)
    except OSError as error:
        raise StoreError(f"The database {path} cannot be read: {error.strerror}.") from None
    if not header:
        return
    version, kind = int.from_bytes(header[60:64], "big"), int.from_bytes(header[68:72], "big")
    if not header.startswith(MAGIC) or (version and kind != schema.APPLICATION):
        raise StoreError(f"{path} is not ours: move it away, or choose another folder with --state-dir.")
    if version > schema.VERSION:
        raise StoreError(
            f"{path} was written by a newer version (format {version}, this one knows {schema.VERSION}): "
            "update the supervisor, or choose another folder with --state-dir."
        )


def refuse_damaged(path: Path) -> None:
    """Read all of it once, before anything is written: what is damaged is left as it is for whoever repairs it."""
    if not path.exists() or not path.stat().st_size:
        return
    try:
        log = path.with_name(f"{path.name}-wal")
        alone = not log.exists() or not log.stat().st_size  # then even the files beside it are not made
        how = "mode=ro&immutable=1" if alone else "mode=ro"
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)
        try:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        found = str(error)
    if found != "ok":
        raise StoreError(
            f"{path} is damaged ({' '.join(str(found).split())[:120]}) and was left as it is: put a backup in its "
            "place, or choose another folder with --state-dir."
        )


def back_up(path: Path, to: Path) -> None:
    """A whole and consistent copy, also while a server writes; wherever it is started from, it is not at home there.

    Raises StoreError.
    """
    if to.exists():
        raise StoreError(f"{to} is there already: choose another name.")
    db = read_only(path)
    try:
        db.conn.execute("VACUUM INTO ?", (str(to.absolute()),))
        to.chmod(0o600)
        with contextlib.closing(sqlite3.connect(to.absolute(), isolation_level=None)) as made:
            made.execute("REPLACE INTO meta VALUES ('place', 'a backup')")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{to} cannot be written: {error}.") from None
    finally:
        db.conn.close()


def first_bytes(path: Path) -> bytes:
    """The header of a database, which may be newer in the log beside it than in the file itself."""
    if not path.exists():
        return b""
    with path.open("rb") as file:
        header = file.read(100)
    log = path.with_name(f"{path.name}-wal")
    if not log.exists():
        return header
    with log.open("rb") as file:
        head = file.read(32)
        size = int.from_bytes(head[8:12], "big")
        while len(head) == 32 and size and len(frame := file.read(24)) == 24 and frame[8:16] == head[16:24]:
            page = file.read(size)
            if int.from_bytes(frame[:4], "big") == 1 and len(page) == size:
                header = page[:100]
    return header


def read_only(path: Path) -> Database:
    """For commands that look at what was said, also beside a running server."""
    refuse_strangers(path)
    if not path.exists():
        raise StoreError(f"Nothing was said yet: there is no {path}. Begin with `supervisor talk`.")
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        connection.execute("SELECT 1 FROM events LIMIT 1")
    except sqlite3.Error as error:
        raise StoreError(f"The database {path} cannot be read: {error}.") from None
    return Database(connection)


def told(db: Database, room_id: str) -> Iterator[e.AnyEvent]:
    """All events of a room, in order."""
    for row in db.query("SELECT body FROM events WHERE room_id = ? ORDER BY seq", (room_id,)):
        yield e.decoder.decode(row["body"])
