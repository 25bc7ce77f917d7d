"""The bus: who gets what, in which order, and that nobody waits for anybody."""

from __future__ import annotations

import pytest
import trio

from supervisor import events as e
from supervisor.bus import BROADCASTS, CAPACITY, Behind, Bus, about


def spoke(seq: int, sender: str = "a", *recipients: str) -> e.AgentSpoke:
    return e.AgentSpoke(seq=seq, agent_id=sender, content=f"word {seq}", recipients=[*recipients])


def left(seq: int, agent: str) -> e.AgentLeft:
    return e.AgentLeft(seq=seq, agent_id=agent, reason="x")


async def test_every_subscriber_gets_every_broadcast_whole_and_in_order() -> None:
    """C8."""
    bus = Bus()
    with bus.mailbox(BROADCASTS) as one, bus.mailbox(BROADCASTS) as other:
        sent = [spoke(n, "ab"[n % 2]) for n in range(100)]
        for event in sent:
            bus.publish([event])
        assert await one.receive() == sent
        assert await other.receive() == sent


async def test_filters_by_type_sender_and_recipient() -> None:
    """C8: what is not wanted does not even wake anybody."""
    bus = Bus()
    with (
        bus.mailbox((e.AgentLeft,)) as goodbyes,
        bus.mailbox(BROADCASTS, about(sender="b")) as by_b,
        bus.mailbox((e.AgentSpoke,), about(recipient="c")) as for_c,
    ):
        bus.publish([spoke(1, "a", "b"), spoke(2, "b", "c"), left(3, "a"), spoke(4, "a", "b", "c")])
        assert [x.seq for x in await goodbyes.receive()] == [3]
        assert [x.seq for x in await by_b.receive()] == [2]
        assert [x.seq for x in await for_c.receive()] == [2, 4]
        with trio.move_on_after(0.01) as scope:
            await by_b.receive()
        assert scope.cancelled_caught


async def test_who_never_fetches_loses_only_the_oldest_and_slows_nobody() -> None:
    bus = Bus(capacity=10)
    with bus.mailbox(BROADCASTS) as slow, bus.mailbox(BROADCASTS) as quick:
        for n in range(CAPACITY + 5):
            bus.publish([spoke(n)])
            assert [x.seq for x in await quick.receive()] == [n]
        assert slow.missed == 5
        assert (await slow.receive())[0].seq == 5


async def test_who_is_gone_is_removed() -> None:
    """Also in the middle of waiting."""
    bus = Bus()
    async with trio.open_nursery() as nursery:

        async def listen(*, task_status: trio.TaskStatus[None]) -> None:
            with bus.mailbox(BROADCASTS) as mailbox:
                task_status.started()
                await mailbox.receive()
                raise AssertionError("it was told something")

        await nursery.start(listen)
        assert all(bus.boxes[kind] for kind in BROADCASTS)
        nursery.cancel_scope.cancel()
    assert not any(bus.boxes.values())
    bus.publish([spoke(1)])


def test_the_ring_holds_only_so_much_text() -> None:
    """However few frames that are; the newest is there in any case."""
    bus = Bus(most_characters=1000)
    viewer = bus.subscribe()
    bus.publish([spoke(n) for n in range(100)])
    assert sum(len(frame.text) for frame in bus.frames) <= 1000
    assert [frame.seq for frame in bus.frames] == [*range(bus.begin, 100)]
    with pytest.raises(Behind):
        viewer.ready()
    bus.publish([e.AgentSpoke(seq=100, agent_id="a", content="x" * 5000, recipients=[])])
    assert [frame.seq for frame in viewer.ready()] == [100]
    assert (bus.begin, bus.end) == (100, 101)


def test_a_viewer_that_falls_out_of_the_ring_is_told() -> None:
    bus = Bus(capacity=3)
    viewer = bus.subscribe()
    bus.publish([spoke(n) for n in range(4)])
    with pytest.raises(Behind):
        viewer.ready()
    bus.publish([spoke(5)])
    assert [frame.seq for frame in viewer.ready()] == [5]
