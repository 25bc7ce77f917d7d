"""One CLI process and everything below it: started in a session of its own, spoken to, and never left behind."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import signal
import subprocess
from typing import TYPE_CHECKING

import trio

from supervisor.errors import CannotStart
from supervisor.threads import in_thread, none_left

from . import open_files, tree
from .lines import LineBuffer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from .lines import Line

CHUNK = 1 << 16
PASSING = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT)
"""What keeps a program from starting until the machine has room for it again."""
FULL = ("no space left", "enospc", "disk quota exceeded", "edquot", "disk is full", "sqlite_full")
DRAIN_SECONDS = 0.5
"""How long to read on after the end: a grandchild may hold the pipe open for ever."""
BURY_SECONDS = 10.0
"""How long the clean-up may take when nobody can be asked any more; not even KILL ends what hangs in the kernel."""


def says_full(words: str) -> bool:
    """Whether a program says that the disk is full."""
    return any(word in words.lower() for word in FULL)


class CappedLog:
    """Keeps the newest of what is written to it: at the cap the file becomes `.1` and a new one begins."""

    def __init__(self, path: Path, cap: int = 1 << 20) -> None:
        self.path = path
        self._cap = cap
        self._last = b""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._open()

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(self.path, flags, 0o600)
        self._size = os.fstat(self._fd).st_size

    def write(self, data: bytes) -> None:
        self._last = (self._last + data)[-4096:]
        data = data[-self._cap :]
        with contextlib.suppress(OSError):  # a full disk or a lost file must not stop the agent
            if self._size + len(data) > self._cap:
                self._turn_over()
            os.write(self._fd, data)
        self._size += len(data)

    def _turn_over(self) -> None:
        with contextlib.suppress(OSError):
            os.replace(self.path, self.path.with_suffix(self.path.suffix + ".1"))
        old = self._fd
        self._open()
        os.close(old)

    def close(self) -> None:
        os.close(self._fd)

    def forget(self) -> None:
        """What comes now are the words of another process."""
        self._last = b""

    @property
    def last_line(self) -> str:
        """The last words, for an error message."""
        lines = [line.strip() for line in self._last.decode("utf-8", "replace").splitlines() if line.strip()]
        return "".join(c for c in lines[-1] if c.isprintable())[:200] if lines else ""


class AgentProcess:
    """Owns one process; `run` lives as long as it does and cleans up whatever it started."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        mark: str,
        log: CappedLog,
        on_line: Callable[[Line], None],
        line_limit: int = 256 << 20,
    ) -> None:
        self.command = list(command)
        self._cwd = cwd
        self._environment = dict(environment)
        self._mark = mark
        self._log = log
        self._on_line = on_line
        self._limit = line_limit
        self._process: trio.Process | None = None
        self._stdin_lock = trio.Lock()
        self.exited = trio.Event()
        """The process is gone, everything it printed was heard, and nothing of its tree is left."""
        self.status: int | None = None
        self._known: dict[int, float] = {}  # descendants seen before the end, by pid and time of birth
        self.leftover = 0

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the program and stay until it has ended and is cleaned up; raises CannotStart."""
        process = self._process = await self._spawn()
        open_files.as_given(process.pid)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read_output)
                nursery.start_soon(self._read_errors)
                task_status.started()
                await process.wait()
                nursery.cancel_scope.deadline = trio.current_time() + DRAIN_SECONDS
        finally:
            with trio.move_on_after(BURY_SECONDS, shield=True):
                await self._bury()
            self.exited.set()

    async def _spawn(self) -> trio.Process:
        program = self.command[0]
        try:
            return await trio.lowlevel.open_process(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._cwd,
                env=self._environment,
                start_new_session=True,
            )
        except FileNotFoundError:
            what = f"{program} was not found" if self._cwd.is_dir() else f"the working folder {self._cwd} is missing"
            raise CannotStart(f"{what}: install it or correct it in the configuration.") from None
        except PermissionError:
            raise CannotStart(f"{program} may not be executed: check its permissions.") from None
        except (OSError, ValueError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            refused = CannotStart(f"{program} could not be started: {reason}.")
            refused.passing = (
                error.errno in PASSING if isinstance(error, OSError)
                else isinstance(error, RuntimeError) and none_left(error)
            )  # fmt: skip
            raise refused from None

    async def _bury(self) -> None:
        """Whatever is left of the tree goes, and the pipes are closed."""
        assert self._process is not None
        self.leftover = await in_thread(tree.kill, self._process.pid, self._mark, self._known)
        self.status = await self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                await trio.aclose_forcefully(pipe)

    # -- pipes ----------------------------------------------------------------------------------------------------

    async def write(self, data: bytes) -> None:
        """Write all of it; raises trio.BrokenResourceError or trio.ClosedResourceError when nobody reads any more."""
        assert self._process is not None
        assert self._process.stdin is not None
        async with self._stdin_lock:
            await self._process.stdin.send_all(data)

    async def _read_output(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        lines = LineBuffer(limit=self._limit)
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := await self._process.stdout.receive_some(CHUNK):
                for line in lines.feed(bytes(data)):
                    self._on_line(line)
        for line in lines.finish():
            self._on_line(line)

    async def _read_errors(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := await self._process.stderr.receive_some(CHUNK):
                self._log.write(bytes(data))

    # -- the end --------------------------------------------------------------------------------------------------

    async def stop(self, *, close_grace: float, term_grace: float) -> None:
        """Ask ever less politely: close stdin, then TERM, then KILL; returns when nothing is left."""
        assert self._process is not None
        if self.exited.is_set():
            return
        self._known = await in_thread(tree.descendants, self._process.pid)
        if self._process.stdin is not None:
            await trio.aclose_forcefully(self._process.stdin)
        with trio.move_on_after(close_grace):
            await self.exited.wait()
            return
        tree.signal_group(self._process.pid, signal.SIGTERM)
        with trio.move_on_after(term_grace):
            await self.exited.wait()
            return
        tree.signal_group(self._process.pid, signal.SIGKILL)
        await self.exited.wait()


def new_mark(owner: str, agent_id: str) -> str:
    return f"{owner}:{agent_id}:{secrets.token_hex(8)}"
