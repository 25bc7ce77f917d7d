"""Agents with a life of their own, over a real socket, with real (fake) CLIs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pysqlite3 import dbapi2 as sqlite3
from serving import Place, place, until
from support import eventually, toml_file

from supervisor.config import LifeEntry
from supervisor.core import inputs
from supervisor.errors import Refused

if TYPE_CHECKING:
    import contextlib
    from pathlib import Path

PEOPLE = ("Ada", "Bo")


def alone(folder: Path, *arguments: str, idle: float = 0.2) -> contextlib.AbstractAsyncContextManager[Place]:
    """An office that is left alone."""
    return place(folder, *arguments, life=LifeEntry(idle_seconds=idle))


def scenario(folder: Path, *answers: str) -> str:
    turns = "".join(f"[[turn]]\nsay = '''{answer}'''\n" for answer in answers)
    return str(toml_file(folder / "s.toml", f'after = "repeat"\n{turns}'))


async def spawn(client: Any, *names: str, x: int = 5) -> list[str]:
    made = []
    for number, name in enumerate(names):
        config = {"name": name, "role": f"role {name}", "initial_position": {"x": x + number, "y": 10}}
        answer = await client.request({"type": "agent_spawn_request", "agent_config": config})
        made.append(answer["agent_id"])
    return made


def rows(folder: Path, statement: str) -> list[Any]:
    connection = sqlite3.connect(folder / "state" / "office.db")
    try:
        return list(connection.execute(statement))
    finally:
        connection.close()


async def test_idle_agents_decide_and_do_it(folder: Path) -> None:
    """C6: idle, thinking, an action, and everybody is told; nothing of the JSON is shown as speech."""
    file = scenario(folder, '{"action": "move", "to": "coffee machine"}')
    async with alone(folder, "--scenario", file) as office, office.client() as client:
        (ada,) = await spawn(client, "Ada")
        seen = await until(client, "agent_decision", agent_id=ada)
        assert seen[-1]["action"] == "move"
        states = [x["state"] for x in seen if x["type"] == "agent_state_update"]
        assert states == ["thinking"]
        moved = (await until(client, "agent_moved", agent_id=ada))[-1]
        assert moved["reason"] == "decides"
        assert not [x for x in seen if x["type"] in ("agentMessage", "agent_text_delta")]
    ledger = rows(folder, "SELECT status, ended_at IS NOT NULL FROM prompts")
    assert ("answered", 1) in ledger


async def test_words_reach_who_is_near_over_the_bus(folder: Path) -> None:
    """C4, C7, C8, C12: heard, acknowledged, answered; and kept for both of them (C9)."""
    file = scenario(folder, '{"action": "speak", "text": "Good morning!"}', '{"action": "wait"}')
    async with alone(folder, "--scenario", file) as office, office.client() as client:
        ada, bo = await spawn(client, *PEOPLE)
        seen = await until(client, "agent_speech")
        spoke = seen[-1]
        other = bo if spoke["agent_id"] == ada else ada
        assert spoke["recipients"] == [other]
        heard = await until(client, "agent_acknowledged", agent_id=other, sender=spoke["agent_id"])
        assert [x["state"] for x in heard if x["type"] == "agent_state_update" and x["agent_id"] == other][
            -1
        ] == "listening"
        begun = (await until(client, "decision_started", agent_id=other))[-1]
        assert begun["heard_from"] == spoke["agent_id"]
        figures = await client.request({"type": "get_agent_state", "agent_id": other})
        assert figures["heard"] > 0
        found = await client.request({"type": "search", "query": "good morn"})
        assert found["messages"][0]["content"] == "Good morning!"
    kept = rows(folder, "SELECT agent_id, sender, recipient FROM agent_conversations WHERE content = 'Good morning!'")
    assert (spoke["agent_id"], spoke["agent_id"], other) in kept
    assert (other, spoke["agent_id"], other) in kept


async def test_words_interrupt_a_thought_with_the_clis_own_means(folder: Path) -> None:
    """C7: the CLI is interrupted and not killed, and decides again with the words in view."""
    slow = toml_file(folder / "slow.toml", 'after = "silence"')
    async with alone(folder, "--scenario", str(slow)) as office, office.client() as client:
        ada, bo = await spawn(client, *PEOPLE)
        people = office.runtime.core.state.agents
        await eventually(lambda: all(people[one].state == "thinking" for one in (ada, bo)))
        decision = people[ada].decision
        assert decision
        colleague = office.runtime.colleague(bo)
        assert colleague
        pid = colleague.driven.pid
        text = '{"action": "speak", "to": ["Bo"], "text": "Wait a moment."}'
        office.runtime.tell(inputs.TurnOver(ask_id=decision.ask_id, status="answered", signal="transcript", text=text))
        broken = (await until(client, "agent_decision", agent_id=bo))[-1]
        assert broken["outcome"] == "interrupted"
        again = (await until(client, "decision_started", agent_id=bo))[-1]
        assert again["heard_from"] == ada
        assert colleague.driven.pid == pid


async def test_two_who_collaborate_have_a_room_and_go_back(folder: Path) -> None:
    """C6: they really talk, and the room is closed when it is over."""
    async with alone(folder, idle=30) as office, office.client() as client:
        ada, _ = await spawn(client, *PEOPLE)
        office.runtime.core.state.agents[ada].state_since -= 100
        office.runtime.core.state.agents[ada].walk_started -= 100
        office.runtime.core.woke_at -= 100
        office.runtime.tell(inputs.Due())
        begun = (await until(client, "decision_started"))[-1]
        partner = "Bo" if begun["agent_id"] == ada else "Ada"
        text = f'{{"action": "collaborate", "with": "{partner}", "on": "Is maths discovered or invented?"}}'
        office.runtime.tell(inputs.TurnOver(ask_id=begun["ask_id"], status="answered", signal="transcript", text=text))
        seen = await until(client, "room_closed")
        assert len([x for x in seen if x["type"] == "agent_speech" and x["room_id"]]) == 6
        assert [x["reason"] for x in seen if x["type"] == "autoModeEnded"] == ["message_limit"]
        assert not office.runtime.core.state.rooms


async def test_the_switches(folder: Path) -> None:
    """C6: for one, for all; a viewer may not; and a restart remembers."""
    file = scenario(folder, '{"action": "wait"}')
    async with alone(folder, "--scenario", file) as office, office.client() as client:
        (ada,) = await spawn(client, "Ada")
        await client.request({"type": "set_decision_loop", "agent_id": ada, "on": False})
        state = await client.request({"type": "get_agent_state", "agent_id": ada})
        assert state["decides"] is False
        await client.request({"type": "set_decision_loop", "on": False})
        async with office.client(office.tokens.viewer) as viewer:
            with pytest.raises(Refused, match="may look"):
                await viewer.request({"type": "set_decision_loop", "on": True})
        with pytest.raises(Refused, match="no agent"):
            await client.request({"type": "set_decision_loop", "agent_id": "agent_099", "on": True})
    async with alone(folder, "--scenario", file) as office, office.client() as client:
        assert client.welcome["snapshot"]["decides"] is False
        await client.request({"type": "set_decision_loop", "on": True})
        await client.request({"type": "set_decision_loop", "agent_id": ada, "on": True})
        await until(client, "agent_decision", agent_id=ada)


async def test_a_person_goes_before_ones_own_thoughts(folder: Path) -> None:
    """The CLI that was thinking for itself answers the room."""
    slow = toml_file(folder / "slow.toml", 'after = "echo"\n[[turn]]\nsteps = [{ silence = true }]')
    async with alone(folder, "--scenario", str(slow)) as office, office.client() as client:
        await client.request({"type": "create_room", "name": "R"})
        (ada,) = await spawn(client, "Ada")
        await until(client, "decision_started", agent_id=ada)
        await eventually(lambda: office.runtime.core.state.agents[ada].state == "thinking")
        await client.request({"type": "user_message", "content": "Are you there?"})
        seen = await until(client, "pending_added")
        assert "Are you there?" in seen[-1]["message"]["content"]


async def test_a_blocked_action_is_answered_and_logged(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """C4: who is speaking does not move; refused, not queued."""
    file = scenario(folder, '{"action": "speak", "text": "A rather long sentence, so that it takes a while to say."}')
    async with alone(folder, "--scenario", file) as office, office.client() as client:
        (ada,) = await spawn(client, "Ada")
        await until(client, "agent_state_update", agent_id=ada, state="speaking")
        with pytest.raises(Refused, match="does not move until it is idle"):
            await client.request({"type": "move_agent", "agent_id": ada, "position": {"x": 8, "y": 8}})
        assert "blocked: Ada is speaking" in caplog.text
        await until(client, "agent_state_update", agent_id=ada, state="idle")
        await client.request({"type": "move_agent", "agent_id": ada, "position": {"x": 8, "y": 8}})
    history = rows(folder, "SELECT old_state, new_state FROM agent_state_history WHERE agent_id = 'agent_001'")
    assert ("thinking", "speaking") in history
    assert ("speaking", "idle") in history
