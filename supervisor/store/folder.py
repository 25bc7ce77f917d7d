"""The state folder: one owner at a time, tokens that outlive a restart, and the note that says where the server is."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import platformdirs

from supervisor.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


OURS = frozenset(
    "office.db office.db-wal office.db-shm server.json tokens.json place lock agents open.html supervisor.log "
    "supervisor.log.1".split()
)
"""What a folder may hold that we close to others without being asked."""
TOKEN_BYTES = 32
LENGTH = len(secrets.token_urlsafe(TOKEN_BYTES))
"""How long a token of so many random bytes is in letters."""


class ServerNote(msgspec.Struct, frozen=True, kw_only=True):
    """`server.json`, there only while a server runs."""

    pid: int
    url: str
    ws_url: str
    token: str
    view_token: str


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    operator: str
    viewer: str

    @classmethod
    def fresh(cls) -> Tokens:
        return cls(operator=secrets.token_urlsafe(TOKEN_BYTES), viewer=secrets.token_urlsafe(TOKEN_BYTES))

    @property
    def long_enough(self) -> bool:
        """Whether nobody can guess one of them."""
        return min(len(self.operator), len(self.viewer)) >= LENGTH


def resolve(given: str | None, environment: Mapping[str, str]) -> Path:
    """The flag, else the variable, else the platform's own place."""
    named = given or environment.get("SUPERVISOR_STATE_DIR")
    return Path(named).expanduser().absolute() if named else platformdirs.user_state_path("office-supervisor")


class StateFolder:
    """Everything under one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "office.db"
        self.agents = path / "agents"
        self._note = path / "server.json"

    def make(self) -> None:
        """A folder that only we can look into; one with things of somebody else in it is left as it is. One in which
        others may have put something, or still may, is refused."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_shared()
            if self.path.stat().st_mode & 0o077 and {entry.name for entry in self.path.iterdir()} <= OURS:
                self.path.chmod(0o700)
            probe, fd = self._draft("probe")
            os.close(fd)
            probe.unlink()
        except OSError as error:
            raise StoreError(
                f"The state folder {self.path} cannot be written ({error.strerror}): choose another with --state-dir."
            ) from None

    def _refuse_shared(self) -> None:
        found = self.path.stat()
        if found.st_uid != os.geteuid():
            raise StoreError(f"The state folder {self.path} belongs to somebody else: choose another with --state-dir.")
        if found.st_mode & 0o022 and any(self.path.iterdir()):
            raise StoreError(
                f"Others may write in the state folder {self.path}: choose another with --state-dir, or, if all of it "
                f"is yours, `chmod go-w {self.path}`."
            )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one; the lock goes with the process, however it ends."""
        self.make()
        try:
            fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"{self.path / 'lock'} cannot be used ({error.strerror}): remove it.") from None
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                note = self.running()
                where = f" ({note.url}, process {note.pid})" if note else ""
                raise StoreError(
                    f"A supervisor{where} is using {self.path} already: stop it with `supervisor stop`, "
                    "or choose another folder with --state-dir."
                ) from None
            os.pwrite(fd, f"{os.getpid():<20}".encode(), 0)
            with contextlib.suppress(OSError):
                self._note.unlink()  # of one that was killed
            yield
        finally:
            os.close(fd)

    def place(self) -> str:
        """What tells this folder from all others, also from a copy of it: its path, and a mark that was made here."""
        path = self.path / "place"
        try:
            mark = path.read_bytes() if path.exists() else b""
            if not mark:
                mark = secrets.token_hex(16).encode()
                self.write(path, mark)
        except OSError as error:
            raise StoreError(f"{path} cannot be used ({error.strerror}): remove it.") from None
        return hashlib.sha256(b"%s %s" % (mark, os.fsencode(os.path.realpath(self.path)))).hexdigest()

    def held(self) -> int | None:
        """The process that uses the folder now, if one does."""
        try:
            fd = os.open(self.path / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return int(os.pread(fd, 20, 0).strip() or 0)
        else:
            return None
        finally:
            os.close(fd)

    def running(self) -> ServerNote | None:
        """The note of a server that is really there: the one that holds the lock."""
        note = self.note()
        return note if note is not None and self.held() == note.pid else None

    def tokens(self, fixed: str = "") -> Tokens:
        """Made once and kept, so that an open page survives a restart."""
        path = self.path / "tokens.json"
        tokens = None
        with contextlib.suppress(OSError, msgspec.DecodeError):
            tokens = msgspec.json.decode(path.read_bytes(), type=Tokens)
        if tokens is None or not tokens.long_enough:
            tokens = self.rotate()
        elif path.stat().st_mode & 0o077:  # copied, or put back from a backup
            path.chmod(0o600)
        return Tokens(operator=fixed, viewer=tokens.viewer) if fixed else tokens

    def rotate(self) -> Tokens:
        """New tokens; the old ones are worth nothing to a server that has heard of it."""
        path, tokens = self.path / "tokens.json", Tokens.fresh()
        try:
            self.write(path, msgspec.json.encode(tokens))
        except OSError as error:
            raise StoreError(f"{path} cannot be written ({error.strerror}): remove it.") from None
        return tokens

    def note(self) -> ServerNote | None:
        """Where the server is, if one says so."""
        with contextlib.suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(self._note.read_bytes(), type=ServerNote)
        return None

    def announce(self, note: ServerNote) -> None:
        self.write(self._note, msgspec.json.encode(note))

    @contextlib.contextmanager
    def announced(self, note: ServerNote) -> Iterator[None]:
        self.announce(note)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                self._note.unlink()

    def write(self, path: Path, data: bytes) -> None:
        """Whole or not at all, and for nobody else to read."""
        draft, fd = self._draft(path.name)
        try:
            with open(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(fd)
            draft.replace(path)
        except OSError:
            draft.unlink()
            raise

    def _draft(self, name: str) -> tuple[Path, int]:
        """A file that was not there, under a name that nobody could know."""
        draft = self.path / f".{name}.{secrets.token_hex(8)}"
        return draft, os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
