"""All that a client can say, made out of its types."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, example, given, settings
from serving import place
from support import server
from websockets.sync.client import connect
from wire import COMMANDS, message, smallest, structs, tag_of

from supervisor.core import inputs
from supervisor.errors import Refused
from supervisor.server import protocol

if TYPE_CHECKING:
    from pathlib import Path

    from msgspec import inspect

NAMES = frozenset(
    """
    request_id agent_config name role cli_backend initial_position x y room_id agent_id roomId topic agents keyword
    maxDurationMs maxMessages minTurns interactionPattern seed content accept dismiss message_id active mode
    participating max_duration_ms max_messages min_turns max_tokens max_cost_usd response_delay max_wait_time
    permission_wait interaction_pattern barge_in permission_id allow position on task_name task_id template before limit
    query
    """.split()
)
"""Every field that a client may send. Whoever adds one asks first what it could start, read or write."""


def test_no_field_names_a_command_a_folder_an_environment_or_a_file() -> None:
    """A backend, a template and a pattern are chosen by their names; nothing of the machine can be named at all."""
    fields = {field.encode_name for kind in COMMANDS for one in structs(kind) for field in one.fields}
    assert fields == NAMES


@pytest.mark.parametrize("kind", COMMANDS, ids=tag_of)
def test_a_field_too_many_is_refused_wherever_it_stands(kind: inspect.StructType) -> None:
    """Also in what stands inside of a message."""
    plain = smallest(kind)
    protocol.command(json.dumps(plain), may_change=True)
    with pytest.raises(Refused) as refused:
        protocol.command(json.dumps({**plain, "command": ["sh"]}), may_change=True)
    assert refused.value.code == "bad_message"
    for one in structs(kind):
        assert one.forbid_unknown_fields, one.cls


async def test_a_backend_is_one_of_the_configuration(folder: Path) -> None:
    """Never a program by its name or path."""
    async with place(folder) as here, here.client() as client:
        for name in ("/bin/sh", "sh", "../fake", "fake ", "python3"):
            config = {"name": "Ada", "role": "helper", "cli_backend": name}
            with pytest.raises(Refused) as refused:
                await client.request({"type": "agent_spawn_request", "agent_config": config})
            assert refused.value.code == "unknown_backend"


async def test_a_viewer_tries_everything_and_changes_nothing(folder: Path) -> None:
    """Each message by itself: only questions are answered, and not one event comes of it."""
    questions = {kind.__struct_config__.tag for kind in inputs.Asked.__args__}
    async with place(folder) as here, here.client() as operator:
        await operator.request({"type": "create_room", "name": "R"})
        config = {"name": "Ada", "role": "helper"}
        await operator.request({"type": "agent_spawn_request", "agent_config": config, "room_id": "room_001"})
        async with here.client(here.tokens.viewer) as viewer:
            before = here.runtime.seq
            for kind in COMMANDS:
                try:
                    await viewer.request(smallest(kind))
                    code = ""
                except Refused as refused:
                    code = refused.code
                assert (code == "forbidden") == (tag_of(kind) not in questions), tag_of(kind)
            assert here.runtime.seq == before


def test_whatever_is_said_the_server_answers(tmp_path: Path) -> None:
    """Three hundred messages out of the schema, right and wrong: each gets its one answer, and others are served."""
    with server(tmp_path, "--seed", "7", FAKE_CLI_SPEED="0", FAKE_CLI_THINK="0") as started:
        numbers = itertools.count()
        with connect(started.ws_url, max_size=None, compression=None) as socket:
            socket.send(json.dumps({"type": "hello", "token": started.token}))
            assert json.loads(socket.recv())["type"] == "welcome"

            def answer(text: str) -> dict[str, Any]:
                """With a number where it can carry one; after what cannot, a question that can."""
                number = f"n{next(numbers)}"
                try:
                    numbered = {**json.loads(text), "request_id": number}
                except (ValueError, TypeError):
                    socket.send(text)
                    numbered = {"type": "get_history", "room_id": "nowhere", "request_id": number}
                socket.send(json.dumps(numbered))
                while True:
                    got: dict[str, Any] = json.loads(socket.recv(timeout=5))
                    if got.get("request_id") == number:
                        return got

            @given(message())
            @example('{"type": null}')
            @settings(max_examples=300, phases=[Phase.explicit, Phase.generate])
            def say(text: str) -> None:
                got = answer(text)
                assert got["type"] != "error" or got["code"] in CODES
                assert started.process.poll() is None

            say()
            with connect(started.ws_url, max_size=None) as other:
                other.send(json.dumps({"type": "hello", "token": started.view_token}))
                assert json.loads(other.recv(timeout=5))["scope"] == "viewer"


CODES = {
    "bad_message", "unknown_type", "unknown_agent", "unknown_room", "unknown_backend", "invalid_state",
    "limit_reached", "name_taken", "unreachable",
}  # fmt: skip
