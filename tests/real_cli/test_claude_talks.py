"""One conversation of the real claude, whenever anything is tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from real_cli.conftest import ready
from real_cli.house import KEYWORD, house, in_turn
from real_cli.stub import Say, Stub
from supervisor import events as e

if TYPE_CHECKING:
    from pathlib import Path


async def test_two_real_ones_agree(scratch: Path, stub: Stub) -> None:
    """E1, A4, A6: what stands in their own transcripts is what stands in the room."""
    cli = ready("claude")
    stub.script = in_turn(Ada=[Say("Tabs are kind."), Say(f"Agreed. {KEYWORD}")], Bo=[Say("Spaces are safe.")])
    async with house(scratch, stub, [cli]) as it:
        await it.begin([cli, cli])
        end = await it.until(e.AutoModeEnded)
        assert end.reason == "keyword"
        assert it.said == [("Ada", "Tabs are kind."), ("Bo", "Spaces are safe."), ("Ada", "Agreed.")]
        assert len(stub.requests) == 3
