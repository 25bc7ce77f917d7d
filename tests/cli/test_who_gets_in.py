"""Who gets in, from the command line: addresses, tokens, and what is written down."""

from __future__ import annotations

import contextlib
import errno
import http.client
import io
import json
import logging
import os
import re
import resource
import socket
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from support import eventually_sync, server, supervisor
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from supervisor.cli import log
from supervisor.cli.start import Door, Serving
from supervisor.config import Office
from supervisor.store.folder import StateFolder

if TYPE_CHECKING:
    from support import Started


def scope(started: Started, token: str, origin: str | None = None) -> str:
    with connect(started.ws_url, max_size=None, additional_headers={"Origin": origin} if origin else {}) as found:
        found.send(json.dumps({"type": "hello", "token": token}))
        try:
            return str(json.loads(found.recv(timeout=10))["scope"])
        except ConnectionClosed as closed:
            return str(closed.rcvd.code if closed.rcvd else 1006)


def test_new_tokens_on_demand(tmp_path: Path) -> None:
    """Also while it runs: who is inside is sent out, the files and the addresses are new, and a restart keeps them."""
    place = ("--state-dir", str(tmp_path / "state"))
    with server(tmp_path) as started:
        with connect(started.ws_url, max_size=None) as inside:
            inside.send(json.dumps({"type": "hello", "token": started.token}))
            inside.recv(timeout=10)
            done = supervisor("rotate-tokens", *place)
            assert done.returncode == 0, done.stderr
            with pytest.raises(ConnectionClosed) as closed:
                inside.recv(timeout=10)
            assert closed.value.rcvd
            assert closed.value.rcvd.code == 4401
        new, view = re.findall(r"#token=([\w-]+)", done.stdout)
        assert scope(started, started.token) == "4401"
        assert (scope(started, new), scope(started, view)) == ("operator", "viewer")
        assert supervisor("status", *place).returncode == 0
    with server(tmp_path) as again:
        assert (again.token, again.view_token) == (new, view)
    assert supervisor("rotate-tokens", *place).stdout == "The next `supervisor start` uses new tokens.\n"
    with server(tmp_path) as last:
        assert not {last.token, last.view_token} & {new, view, started.token}


def test_a_token_of_the_environment_stays(tmp_path: Path) -> None:
    """Of what somebody else has set only the rest can be made anew; whatever is in it stands in the address."""
    with server(tmp_path, SUPERVISOR_TOKEN="k" * 43) as started:
        done = supervisor("rotate-tokens", "--state-dir", str(tmp_path / "state"))
        assert done.returncode == 0
        assert "set by SUPERVISOR_TOKEN and stays" in done.stderr
        assert scope(started, "k" * 43) == "operator"
        assert scope(started, started.view_token) == "4401"
    shortest = f"&{'k' * 30}#"
    with server(tmp_path, SUPERVISOR_TOKEN=shortest) as started:
        assert scope(started, shortest) == "operator"
        address = supervisor("rotate-tokens", "--state-dir", str(tmp_path / "state")).stdout
        assert f"#token=%26{'k' * 30}%23\n" in address


def test_a_token_that_may_be_guessed_is_refused(tmp_path: Path) -> None:
    """Also where nobody but users of this machine can try."""
    for host in ("127.0.0.1", "0.0.0.0"):
        arguments = ("--no-open", "--port", "0", "--host", host, "--state-dir", str(tmp_path / "s"))
        weak = supervisor("start", *arguments, SUPERVISOR_TOKEN="k" * 31)
        assert (weak.returncode, weak.stdout) == (2, "")
        assert weak.stderr == (
            "supervisor: SUPERVISOR_TOKEN has 31 characters and may be guessed: give 43 random ones.\n"
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "office.example"], "--host 'office.example': expected an address"),
        (["--host", "203.0.113.9"], "203.0.113.9 is no address of this machine"),
        (["--allow-origin", "localhost:9000"], "--allow-origin 'localhost:9000': expected what a browser shows"),
        (["--allow-origin", "*"], "--allow-origin '*': expected"),
    ],
)
def test_a_door_that_cannot_be_opened_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = supervisor("start", "--no-open", "--port", "0", "--state-dir", str(tmp_path / "s"), *arguments)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert message in last


def test_others_are_let_in_only_with_a_flag_and_a_warning(tmp_path: Path) -> None:
    """Without it the server is on the loopback alone; with it, a name is still no way in."""
    with server(tmp_path) as started:
        port = int(started.url.rsplit(":", 1)[1].strip("/"))
        table = Path("/proc/net/tcp").read_text()
        listening = [words[1] for line in table.splitlines() if (words := line.split())[3] == "0A"]
        assert f"0100007F:{port:04X}" in listening
        assert f"00000000:{port:04X}" not in listening
    with server(tmp_path, "--host", "0.0.0.0", "--allow-origin", "http://office.test:9000") as started:
        assert started.url.startswith("http://127.0.0.1:")
        assert scope(started, started.token) == "operator"
        assert scope(started, started.token, "http://office.test:9000") == "operator"
        with pytest.raises(InvalidStatus, match="403"):
            scope(started, started.token, "http://office.test:9001")
        for name, status in (("127.0.0.2", 200), ("office.test:9000", 200), ("rebound.test", 421)):
            assert asked(started, name) == status
        started.process.terminate()
        _, errors = started.process.communicate(timeout=30)
        assert errors.startswith("supervisor: warning: others can reach 0.0.0.0, and nothing is encrypted")


def asked(started: Started, host: str) -> int:
    port = int(started.url.rsplit(":", 1)[1].strip("/"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/", headers={"Host": host if ":" in host else f"{host}:{port}"})
    status = connection.getresponse().status
    connection.close()
    return status


def test_as_many_files_as_there_may_be(tmp_path: Path) -> None:
    """The server takes all that the machine allows; its CLIs get what is usual."""
    ours = resource.getrlimit(resource.RLIMIT_NOFILE)
    given = (256, ours[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, given)
    try:
        with server(tmp_path, "--auto", "--seed", "7") as started:
            office = psutil.Process(started.process.pid)
            assert office.rlimit(psutil.RLIMIT_NOFILE) == (given[1], given[1])
            agent = eventually_sync(office.children)[0]
            eventually_sync(lambda: agent.rlimit(psutil.RLIMIT_NOFILE) == given)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, ours)


def test_no_file_is_left_for_those_who_come_in(tmp_path: Path) -> None:
    """One line in the log, however often it is tried, and nothing on stderr; with files again they come in."""
    with server(tmp_path) as started:
        pid = started.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        highest = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 3, limits[1]))
        port = int(started.url.rsplit(":", 1)[1].strip("/"))
        with contextlib.ExitStack() as many:
            for _ in range(highest + 3):
                many.enter_context(socket.create_connection(("127.0.0.1", port)))
            path = started.folder / "supervisor.log"
            eventually_sync(lambda: "nobody can come in at the moment: accept returned EMFILE" in path.read_text())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        assert scope(started, started.token) == "operator"
        started.process.terminate()
        assert started.process.communicate(timeout=30)[1] == ""


def test_a_crowd_is_told_of_once_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "supervisor.log"
    door = logging.getLogger("trio.serve_listeners")
    with log.logged(path):
        for _ in range(50):
            door.error("accept returned EMFILE")
        monkeypatch.setattr(log, "QUIET_SECONDS", 0.0)
        door.error("accept returned EMFILE")
    assert path.read_text().count("\n") == path.read_text().count("EMFILE") == 2
    assert door.handlers == []


class FullDisk(io.StringIO):
    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_log_on_a_full_disk_is_silent(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """There is nobody whom a traceback would help."""
    with log.logged(tmp_path / "supervisor.log"):
        (handler,) = [one for one in logging.getLogger("supervisor").handlers if isinstance(one, log.LogFile)]
        written = handler.setStream(FullDisk())  # type: ignore[arg-type]  # all that is asked of it
        logging.getLogger("supervisor").warning("anything")
        assert written is not None
        written.close()
    assert capfd.readouterr() == ("", "")


def test_the_page_is_opened_by_way_of_a_file_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token is on no command line, and a link in the place of the file is not followed."""
    precious, place = tmp_path / "precious", StateFolder(tmp_path / "state")
    place.make()
    precious.write_text("mine")
    (place.path / "open.html").symlink_to(precious)
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    Serving(place, Office(), Door("127.0.0.1", 0, (), ""), "7", {})._open("http://127.0.0.1:1/#token=secret")
    assert opened == [(place.path / "open.html").as_uri()]
    assert "#token=secret" in (place.path / "open.html").read_text()
    assert precious.read_text() == "mine"


def test_tokens_are_in_no_log_and_files_are_for_nobody_else(tmp_path: Path) -> None:
    """Whatever is tried with them; also where the user's own mask would let everybody read."""
    mask = os.umask(0)
    try:
        with server(tmp_path, "--auto", "--seed", "7", FAKE_CLI_SPEED="0", FAKE_CLI_THINK="0") as started:
            assert scope(started, started.token) == "operator"
            assert scope(started, f"{started.token}x") == "4401"
            with connect(started.ws_url, additional_headers={"Authorization": f"Bearer {started.token}"}) as found:
                found.send('{"type":"nonsense"}')
            port = int(started.url.rsplit(":", 1)[1].strip("/"))
            with socket.create_connection(("127.0.0.1", port)) as rough:
                rough.sendall(f"GET /?token={started.token} HTTP/1.1\r\nHost: {started.token}\r\n\r\n".encode())
                assert b"421" in rough.recv(1000)
            eventually_sync(lambda: [*started.folder.glob("agents/*/**/*.jsonl")])
            modes = {path.name: path.stat().st_mode & 0o777 for path in started.folder.iterdir()}
            assert started.folder.stat().st_mode & 0o777 == 0o700
            assert {name for name, mode in modes.items() if mode & 0o077 and name != "agents"} == set()
            assert {"office.db", "office.db-wal", "server.json", "tokens.json", "supervisor.log", "lock"} <= {*modes}
        holding = set()
        for path in started.folder.rglob("*"):
            if path.is_file() and any(t.encode() in path.read_bytes() for t in (started.token, started.view_token)):
                holding.add(path.name)
        assert holding == {"tokens.json"}
    finally:
        os.umask(mask)


def test_the_log_is_one_line_a_message_and_stays_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an agent put into it, and also after it has begun a new file."""
    monkeypatch.setattr(log, "LOG_BYTES", 300)
    path = tmp_path / "supervisor.log"
    path.touch(mode=0o644)
    with log.logged(path):
        for number in range(6):
            logging.getLogger("supervisor").warning(
                "%d \x1b]52;c;aGk=\x07\n2026-01-01 ERROR forged\x9b2J\u202e", number
            )
    for one in (path, tmp_path / "supervisor.log.1"):
        assert one.stat().st_mode & 0o777 == 0o600
        for line in one.read_text().splitlines():
            assert re.search(r"WARNING \d \]52;c;aGk= 2026-01-01 ERROR forged2J$", line)
