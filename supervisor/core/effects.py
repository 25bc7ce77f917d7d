"""What the runtime has to carry out, once the events that led to it are safe."""

from __future__ import annotations

import msgspec


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Spawn(Effect, frozen=True, kw_only=True):
    agent_id: str


class Stop(Effect, frozen=True, kw_only=True):
    """End an agent's CLI; an open ask is interrupted on the way."""

    agent_id: str


class Renew(Effect, frozen=True, kw_only=True):
    """End an agent's CLI and bring it up again with a fresh session."""

    agent_id: str


class Ask(Effect, frozen=True, kw_only=True):
    """Put a prompt to an agent; the ledger has it before it is written."""

    ask_id: str
    agent_id: str
    prompt: str
    quiet: bool = False
    """Its answer is for us: it is not shown as it comes."""


class AskAgain(Effect, frozen=True, kw_only=True):
    """Put the very same ask again: its CLI ended, or we did; the ledger has the prompt."""

    ask_id: str
    agent_id: str


class Interrupt(Effect, frozen=True, kw_only=True):
    ask_id: str
    agent_id: str


class Permit(Effect, frozen=True, kw_only=True):
    """Tell an agent's CLI whether it may."""

    agent_id: str
    cli_id: str
    allow: bool


AnyEffect = Spawn | Stop | Renew | Ask | AskAgain | Interrupt | Permit
