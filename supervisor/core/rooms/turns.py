"""Auto mode: whose turn it is, what its prompt holds, what an answer means, and what ends it all.

Asks go out in waves: one at a time in rotation today, several at once for mentions and in manual mode. Answers are
released in the order of their wave, whoever is faster.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.core.apply import number_of
from supervisor.errors import Refused

from . import mentions, prompts, speech, topics
from .endings import AllSkipped, ContextFull, Elapsed, Ending, Keyword, Messages, Spent, View
from .prompts import Person
from .settings import problem_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.core.core import Rules
    from supervisor.core.effects import AnyEffect
    from supervisor.core.state import Agent, Ask, Room, State

LONGEST_PAUSE = 24 * 3600.0
RATE_LIMIT_SECONDS = 60.0
"""How long to wait where a rate limit does not say when it ends."""
RETRY_SECONDS = 1.0
LONGEST_TOPIC = 4000
CONCLUDED: tuple[e.EndReason, ...] = ("keyword", "timer", "all_skipped", "message_limit", "budget")
"""The ends after which a result is asked for, where a room wants one."""
MOST_HOPS = 6
"""How many turns in a row may be taken by mention before the order has its way again."""


class Turns:
    """The part of the core that conducts conversations."""

    rules: Rules
    state: State
    now: float

    if TYPE_CHECKING:

        def _emit(self, event: e.AnyEvent) -> None: ...
        def _do(self, effect: AnyEffect) -> None: ...
        def _enter(self, agent: Agent, new: e.AgentState) -> None: ...
        def _say(self, room: Room, kind: e.MessageType, text: str, author: str = "", name: str = "") -> str: ...
        def _autos(self) -> list[Room]: ...
        def _agent(self, agent_id: str) -> Agent: ...
        def _room(self, room_id: str | None) -> Room: ...
        def _open_room(self, name: str, settings: e.Settings) -> Room: ...
        def _top_up(self, room: Room) -> None: ...
        def new_id(self, what: str, number: int) -> str: ...
        def _stage_beginning(self, room: Room) -> None: ...
        def _stage_turn(self, room: Room, speaker: Agent, author: str | None) -> None: ...
        def _stage_end(self, room: Room) -> None: ...
        def _strolls(self) -> Iterator[tuple[float, Agent]]: ...
        def _stroll(self, agent: Agent) -> None: ...
        def _manual_asks(self) -> list[Ask]: ...
        def _manual_failed(
            self, room: Room, ask: Ask, why: str, *, late: bool = False, over: inputs.TurnOver | None = None
        ) -> None: ...
        def _outcome_over(self, room: Room, ask: Ask, over: inputs.TurnOver) -> None: ...
        def _request_outcome(self, room: Room, agent_id: str | None = None) -> None: ...
        def _manual_over(self, room: Room, ask: Ask, over: inputs.TurnOver) -> None: ...

    # -- beginning and ending -------------------------------------------------------------------------------------

    def _start_auto(self, given: inputs.StartAutoMode, *, unattended: bool = False) -> None:
        room = self._room(given.roomId) if given.roomId is not None or self.state.rooms else None
        if room is not None and room.auto is not None:
            raise Refused("invalid_state", f"Auto mode is running in {room.name} already.")
        if room is not None and (room.pending or any(ask.room_id == room.id for ask in self.state.asks.values())):
            raise Refused("invalid_state", "There are answers that wait: take or dismiss them first.")
        settings = self._settings(room.settings if room else self.rules.settings, given)
        topic = self._checked_topic(given.topic, settings.keyword)
        members = self._members(room, given.agents)
        if room is None:
            room = self._open_room("", settings)
        if settings != room.settings or members != room.agents:
            self._update(room, settings=settings, members=members)
        self._top_up(room)
        said = [m for m in room.messages if m.active and m.type in ("user", "agent")]
        fresh = topic or (topics.draw(given.seed if given.seed is not None else room.id) if not said else "")
        if fresh:
            self._say(room, "user", fresh, e.TOPIC, "Topic")
        else:
            fresh = next((m.content for m in reversed(said) if m.type == "user"), said[0].content)
        self._emit(e.AutoModeStarted(
            roomId=room.id, agents=list(room.agents), topic=fresh, unattended=unattended,
            interactionPattern=settings.interaction_pattern, endsAt=self.now + settings.max_duration_ms / 1000,
        ))  # fmt: skip
        self._say(room, "system", "Auto mode started")
        self._stage_beginning(room)
        self._ask_next(room)

    def _members(self, room: Room | None, wanted: list[str] | None) -> list[str]:
        if wanted is None:
            return list(room.agents) if room else []
        if len(set(wanted)) < len(wanted):
            raise Refused("bad_message", "An agent is named twice.")
        for agent_id in wanted:
            home = self._agent(agent_id).room_id
            if home is not None and (room is None or home != room.id):
                raise Refused("invalid_state", f"{self._agent(agent_id).name} is in another room.")
        return list(wanted)

    def _settings(self, settings: e.Settings, given: inputs.StartAutoMode) -> e.Settings:
        wanted = {
            "keyword": given.keyword, "max_duration_ms": given.maxDurationMs, "max_messages": given.maxMessages,
            "min_turns": given.minTurns, "interaction_pattern": given.interactionPattern,
        }  # fmt: skip
        changed = msgspec.structs.replace(settings, **{k: v for k, v in wanted.items() if v is not None})
        if problem := problem_of(changed, self.rules.patterns):
            raise Refused("bad_message", problem)
        return changed

    def _checked_topic(self, topic: str | None, keyword: str) -> str:
        """A topic that quotes the keyword is given without it, so that nobody says it by quoting the topic (A6)."""
        given = (topic or "").strip()
        topic = speech.strip(given, keyword)
        if given and not topic:
            raise Refused("bad_message", "The topic is only the keyword: give something to talk about.")
        if len(topic) > LONGEST_TOPIC:
            raise Refused("bad_message", f"The topic has {len(topic)} characters; {LONGEST_TOPIC} is the most.")
        return topic

    def _end(self, room: Room, reason: e.EndReason, by: str, detail: str = "", *, keep: bool = False) -> None:
        """Whatever is under way is interrupted, or kept for manual mode; else everybody is idle before it is said."""
        auto = room.auto
        assert auto is not None
        kept = list(auto.wave) if keep else []
        for ask_id in [] if keep else list(auto.wave):
            self._drop(self.state.asks[ask_id], "interrupted", reason)
        paused_ms = auto.paused_ms + (int((self.now - auto.paused_at) * 1000) if auto.paused else 0)
        lasted = max(0, int((self.now - auto.started_at) * 1000) - paused_ms)
        turns = auto.turns
        self._emit(e.AutoModeEnded(
            roomId=room.id, reason=reason, turns=turns, durationMs=lasted, endedBy=by, detail=detail, kept=kept,
        ))  # fmt: skip
        self._say(room, "system", "Auto mode stopped")
        self._stage_end(room)
        spoken = any(m.type == "agent" and m.active and m.author in room.agents for m in room.messages)
        if room.settings.outcome and reason in CONCLUDED and spoken:
            self._request_outcome(room)

    def _drop(
        self, ask: Ask, outcome: e.TurnOutcome, why: str, *, interrupt: bool = True, signal: str = "stop"
    ) -> None:
        """A turn that is not waited for any longer."""
        self._turn_ended(ask, outcome, signal, 0, why)
        if interrupt:
            self._do(effects.Interrupt(ask_id=ask.id, agent_id=ask.agent_id))

    def _turn_ended(self, ask: Ask, outcome: e.TurnOutcome, signal: str, ms: int, detail: str = "") -> None:
        agent = self.state.agents[ask.agent_id]
        if agent.state != "idle":
            self._enter(agent, "idle")
        self._emit(e.TurnEnded(
            agent_id=agent.id, room_id=ask.room_id, turn=ask.turn, ask_id=ask.id, signal=signal, ms=ms,
            outcome=outcome, detail=detail,
        ))  # fmt: skip

    # -- pausing --------------------------------------------------------------------------------------------------

    def _pause(self, room: Room, reason: e.PauseReason, retry_at: float | None, detail: str) -> None:
        auto = room.auto
        assert auto is not None
        for ask_id in list(auto.wave):
            self._drop(self.state.asks[ask_id], "interrupted", reason)
        if auto.paused is not None:  # it waits already, and goes on waiting for that
            return
        self._emit(e.AutoModePaused(roomId=room.id, reason=reason, retryAt=retry_at, detail=detail))
        if reason != "suspended":
            self._say(room, "system", f"Conversation paused: {detail or reason}")

    def _resume(self, room: Room) -> None:
        auto = room.auto
        assert auto is not None
        if auto.paused is None:
            raise Refused("invalid_state", f"{room.name} is not paused.")
        left = auto.ends_at - auto.paused_at
        again = auto.attempt + (auto.paused not in ("suspended", "nobody"))
        self._emit(e.AutoModeResumed(roomId=room.id, endsAt=self.now + left, attempt=again))
        self._ask_next(room)

    def _cancel_wait(self, room: Room) -> None:
        auto = room.auto
        assert auto is not None
        if auto.retry_at is None:
            raise Refused("invalid_state", f"{room.name} is not waiting for a limit to end.")
        self._emit(
            e.AutoModePaused(roomId=room.id, reason=auto.paused or "rate_limit", detail="the wait was cancelled")
        )

    def _wake_room(self, room: Room, answered: tuple[str, ...]) -> None:
        """After a start: what was suspended goes on; what was cut off is asked again, under the same id."""
        auto = room.auto
        assert auto is not None
        if auto.paused == "suspended":
            self._resume(room)
        elif auto.paused is None:
            latest = self.now + room.settings.max_duration_ms / 1000
            self._emit(e.AutoModeResumed(roomId=room.id, endsAt=min(auto.ends_at, latest), attempt=auto.attempt))
            for ask_id in auto.wave:
                if ask_id not in answered and self.state.asks[ask_id].answer is None:
                    self._do(effects.AskAgain(ask_id=ask_id, agent_id=self.state.asks[ask_id].agent_id))
            if not auto.wave and auto.next_at is None:
                self._ask_next(room)

    # -- time -----------------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        """When `Due` is to be told; every deadline is a part of the state."""
        times: list[float] = []
        for room in self._autos():
            auto = room.auto
            assert auto is not None
            if auto.paused is not None:
                times += [auto.paused_at + LONGEST_PAUSE] + ([auto.retry_at] if auto.retry_at is not None else [])
                continue
            times += [auto.ends_at] + ([auto.next_at] if auto.next_at is not None else [])
            times += [self.state.asks[a].give_up_at for a in auto.wave if self.state.asks[a].answer is None]
        times += [ask.give_up_at for ask in self._manual_asks()]
        times += [due for due, _ in self._strolls()]
        return min(times, default=None)

    def _due(self) -> None:
        for room in self._autos():
            auto = room.auto
            assert auto is not None
            if auto.paused is not None:
                if self.now >= auto.paused_at + LONGEST_PAUSE:
                    self._end(room, "timer", "timer", "paused for too long")
                elif auto.retry_at is not None and self.now >= auto.retry_at:
                    self._resume(room)
                continue
            if reason := self._ending(room).met(self._view(room)):
                self._end(room, reason, "timer" if reason == "timer" else "supervisor")
                continue
            late = next((a for a in auto.wave if self.now >= self.state.asks[a].give_up_at), None)
            if late is not None and self.state.asks[late].answer is None:
                seconds = f"{room.settings.max_wait_time:g} s"
                self._failed(room, self.state.asks[late], f"no answer within {seconds}", "max_wait", late=True)
            elif auto.next_at is not None and self.now >= auto.next_at:
                self._ask_next(room)
        for ask in self._manual_asks():
            if self.now >= ask.give_up_at:
                seconds = f"{self.state.rooms[ask.room_id].settings.max_wait_time:g} s"
                self._manual_failed(self.state.rooms[ask.room_id], ask, f"no answer within {seconds}", late=True)
        for due, agent in list(self._strolls()):
            if self.now >= due:
                self._stroll(agent)

    # -- asking ---------------------------------------------------------------------------------------------------

    def _ask_next(self, room: Room) -> None:
        """Those who were addressed by name, all at once; else who is next in the order."""
        called = [self.state.agents[agent_id] for agent_id in room.agents if agent_id in room.mentioned]
        called = [agent for agent in called if agent.participating and agent.ask_id is None]
        due = self._due_agent(room)
        if called:
            self._ask_wave(room, called, mentioned=True)
        elif due is not None:
            self._ask_wave(room, [due])
        else:
            self._pause(room, "nobody", None, "everybody is paused")

    def _due_agent(self, room: Room) -> Agent | None:
        order = room.agents[room.current_index :] + room.agents[: room.current_index]
        return next((a for i in order if (a := self.state.agents[i]).participating and a.ask_id is None), None)

    def _ask_wave(self, room: Room, due: list[Agent], *, mentioned: bool = False) -> None:
        for agent in due:
            self._ask(room, agent, mentioned=mentioned)
        self._update(room)

    def _ask(
        self, room: Room, agent: Agent, *, mentioned: bool = False, manual: bool = False, purpose: e.Purpose = "turn"
    ) -> None:  # fmt: skip
        auto = room.auto
        if why := self._outdated(room, agent):
            self._renew(room, agent, why)
        ask_id = self.new_id("ask", self.state.ask_count + 1)
        had = set(room.heard.get(agent.id, []))
        unheard = [
            m for m in room.messages
            if m.active and m.type in ("user", "agent") and m.author != e.TOPIC and m.id not in had
            and (m.author != agent.id or number_of(m) <= agent.forgotten)
        ]  # fmt: skip
        words = [(self._person(m), speech.strip(m.content, room.settings.keyword)) for m in unheard]
        others = [Person(a.name, a.role) for i in room.agents if (a := self.state.agents[i]) is not agent]
        may_skip = manual or len(others) > 1
        told = prompts.instruction(
            Person(agent.name, agent.role), others, room.topic, room.settings.keyword, may_skip=may_skip
        )
        mark = hashlib.sha256(ask_id.encode()).hexdigest()[:8]
        print_of = hashlib.sha256(told.encode()).hexdigest()[:12]
        known = agent.instruction == print_of
        prompt = prompts.said(words, mark, begun=known)
        if purpose == "outcome":
            prompt = "\n\n".join([prompt, prompts.OUTCOME] if words else [prompts.OUTCOME])
        topic = [m.id for m in room.messages if m.author == e.TOPIC and m.content == room.topic][-1:]
        turn = auto.turns + len(auto.wave) + 1 if auto else 0
        self._emit(e.TurnStarted(
            agent_id=agent.id, room_id=room.id, turn=turn, ask_id=ask_id, manual=manual, purpose=purpose,
            heard=[*([] if known else topic), *(m.id for m in unheard)], instruction="" if known else print_of,
            mentioned=mentioned,
        ))  # fmt: skip
        self._enter(agent, "listening")
        self._emit(e.AgentAcknowledged(agent_id=agent.id, sender=unheard[-1].author if unheard else e.TOPIC))
        if auto is not None:
            self._stage_turn(room, agent, unheard[-1].author if unheard else None)
        self._do(effects.Ask(
            ask_id=ask_id, agent_id=agent.id, prompt=prompt if known else f"{told}\n\n{prompt}"
        ))  # fmt: skip

    def _outdated(self, room: Room, agent: Agent) -> str:
        """Why an agent's session is not what the room holds any more; nothing if it is."""
        had = set(room.heard.get(agent.id, []))
        unheard = False  # of those before what it has heard last
        for m in room.messages:
            if not m.active:
                if m.id in had or (m.author == agent.id and number_of(m) > agent.forgotten):
                    return "something it holds does not count any more"
            elif m.id in had:
                if unheard:
                    return "something it had not been told counts now"
            elif m.type in ("user", "agent") and m.author not in (agent.id, e.TOPIC):
                unheard = True
        return ""

    def _renew(self, room: Room, agent: Agent, why: str) -> None:
        tokens = agent.context_tokens
        session = self.new_id(f"session of {agent.id}", agent.renewals + 1)
        self._emit(e.SessionRenewed(agent_id=agent.id, session_id=session, reason=why, tokens=tokens))
        self._do(effects.Renew(agent_id=agent.id))
        cost = f" (about {tokens:,} tokens are read again)" if tokens else ""
        self._say(room, "system", f"{agent.name} | {agent.role} begins a fresh session: {why}{cost}")

    def _person(self, message: e.Message) -> Person:
        agent = self.state.agents.get(message.author)
        return Person(message.author_name, agent.role if agent else "")

    def _update(
        self, room: Room, *, settings: e.Settings | None = None, members: list[str] | None = None,
        next_at: float | None = None, called: list[str] | None = None, index: int | None = None,
        due: list[str] | None = None,
    ) -> None:  # fmt: skip
        auto = room.auto
        waiting = [ask.agent_id for ask in self.state.asks.values() if ask.room_id == room.id]
        agents = room.agents if members is None else members
        self._emit(e.RoomUpdated(
            room_id=room.id, mode="auto" if auto else "manual", agents=list(agents),
            current_index=min(room.current_index if index is None else index, max(0, len(agents) - 1)),
            waiting_for_response=waiting[0] if waiting else None, waiting_count=len(waiting),
            skip_count=dict(room.skip_count), next_response_at=next_at, settings=settings or room.settings,
            mentioned=list(room.mentioned if called is None else called),
            due=list(room.due if due is None else due),
        ))  # fmt: skip

    # -- answers --------------------------------------------------------------------------------------------------

    def _heard_of(
        self, ask: Ask, fact: inputs.Written | inputs.SpeechBegan | inputs.Said | inputs.TurnOver
    ) -> None:  # fmt: skip
        agent, room = self.state.agents[ask.agent_id], self.state.rooms[ask.room_id]
        match fact:
            case inputs.Written() if agent.state == "listening":
                self._enter(agent, "thinking")
            case inputs.SpeechBegan():
                self._enter(agent, "speaking")
            case inputs.Said() if fact.source.line not in ask.lines:
                self._enter(agent, "speaking")
                self._emit(e.AgentMessage(
                    agentId=agent.id, text=fact.text, messageId=f"{ask.id}:{len(ask.lines) + 1}", roomId=room.id,
                    transcript=fact.source,
                ))  # fmt: skip
            case inputs.TurnOver() if ask.purpose == "outcome":
                self._outcome_over(room, ask, fact)
            case inputs.TurnOver() if ask.manual:
                self._manual_over(room, ask, fact)
            case inputs.TurnOver():
                self._turn_over(room, ask, fact)
            case _:
                pass  # told before

    def _turn_over(self, room: Room, ask: Ask, over: inputs.TurnOver) -> None:
        said = speech.read(over.text, room.settings.keyword)
        if over.status == "answered" or (over.status == "interrupted" and said.ends):
            if not said.text and not said.skips and not said.ends:
                self._failed(room, ask, "the answer is empty", "failure")
                return
            answer = e.Answer(
                text=said.text, ends=said.ends, skips=said.skips, reason=said.reason, transcript=over.source
            )
            self._release(room, ask, answer, over)
        elif over.status == "repeated":  # interrupted when the supervisor ended: its answer was never given
            self._turn_ended(ask, "interrupted", over.signal, over.ms, over.detail)
            self._ask_next(room)
        elif over.status == "exited" and not ask.restarted:
            self._emit(e.TurnRestarted(
                agent_id=ask.agent_id, room_id=room.id, turn=ask.turn, ask_id=ask.id, detail=over.detail
            ))  # fmt: skip
            self._do(effects.AskAgain(ask_id=ask.id, agent_id=ask.agent_id))
        elif over.status == "exited":
            by = ask.agent_id
            self._complain(room, ask, over.detail)
            self._turn_ended(ask, "failed", over.signal, over.ms, over.detail)
            self._end(room, "agent_exit", by, over.detail)
        elif over.kind == "context" and over.status == "failed":
            by = ask.agent_id
            self._turn_ended(ask, "failed", over.signal, over.ms, over.detail)
            self._say(room, "error", "Conversation approaching model context limit")
            self._end(room, "context_limit", by, over.detail)
        else:
            reason: e.PauseReason = "rate_limit" if over.kind == "rate_limit" else "failure"
            self._failed(room, ask, over.detail or over.status, reason, over=over)

    def _failed(
        self, room: Room, ask: Ask, why: str, reason: e.PauseReason, *, over: inputs.TurnOver | None = None,
        late: bool = False,
    ) -> None:  # fmt: skip
        """D13, D14: pause, with a way on; where nobody can press Retry, try once more and then end."""
        auto = room.auto
        assert auto is not None
        retry_at = over.retry_at if over else None
        self._complain(room, ask, why)
        backend, by, attempt = self.state.agents[ask.agent_id].backend, ask.agent_id, auto.attempt
        if late:
            self._drop(ask, "failed", why, signal="watchdog")
        else:
            self._turn_ended(ask, "failed", over.signal if over else "transcript", over.ms if over else 0, why)
        if reason == "rate_limit":
            retry_at = max(retry_at or 0.0, self.now + RETRY_SECONDS) if retry_at else self.now + RATE_LIMIT_SECONDS
            self._emit(e.RateLimited(backend=backend, room_id=room.id, retry_at=retry_at))
            self._pause_others(room, backend, retry_at)
        elif auto.unattended:
            retry_at = max(retry_at or 0.0, self.now + RETRY_SECONDS)
        if auto.unattended and attempt >= 1:
            self._end(room, "error", by, why)
        else:
            self._pause(room, reason, retry_at, why)

    def _pause_others(self, limited: Room, backend: str, retry_at: float) -> None:
        """D14: a limit is the backend's, so every room that uses it waits; each goes on by itself when it is over."""
        for room in self._autos():
            uses = any(self.state.agents[i].backend == backend for i in room.agents)
            if room is not limited and uses and room.auto is not None and room.auto.paused is None:
                self._emit(e.RateLimited(backend=backend, room_id=room.id, retry_at=retry_at))
                self._pause(room, "rate_limit", retry_at, f"{backend} is rate limited")

    def _complain(self, room: Room, ask: Ask, why: str) -> None:
        self._say(room, "error", f"⚠️ {self.state.agents[ask.agent_id].name} Failed to respond: {why}", ask.agent_id)

    def _release(self, room: Room, ask: Ask, answer: e.Answer, over: inputs.TurnOver) -> None:
        """An answer counts when all before it in the wave are in."""
        auto = room.auto
        assert auto is not None
        if auto.wave[0] != ask.id:
            self._emit(e.AnswerHeld(agent_id=ask.agent_id, room_id=room.id, ask_id=ask.id, answer=answer))
            return
        self._take(room, ask, answer, over.signal, over.ms)
        while room.auto is auto and auto.wave and (held := self.state.asks[auto.wave[0]]).answer is not None:
            self._take(room, held, held.answer, "transcript", 0)
        if room.auto is auto and not auto.wave and auto.paused is None:
            self._go_on(room)

    def _take(self, room: Room, ask: Ask, answer: e.Answer, signal: str, ms: int) -> None:
        agent, auto = self.state.agents[ask.agent_id], room.auto
        assert auto is not None
        called: list[str] = []
        if answer.text:
            if agent.state != "speaking":
                self._enter(agent, "speaking")
            message = e.Message(
                id=f"msg_{self.state.message_count + 1:06d}", room_id=room.id, type="agent", author=agent.id,
                author_name=agent.name, content=answer.text, at=self.now, transcript=answer.transcript,
            )  # fmt: skip
            self._emit(e.MessageAdded(message=message))
            recipients = [*(other for other in room.agents if other != agent.id), e.PERSON]
            self._emit(e.AgentSpoke(
                agent_id=agent.id, content=answer.text, recipients=recipients, room_id=room.id
            ))  # fmt: skip
            called = self._called(room, answer.text, agent.id)
        elif answer.skips:
            why = f": {answer.reason}" if answer.reason else ""
            self._say(room, "system", f"{agent.name} | {agent.role} skipped their turn{why}")
        self._turn_ended(ask, "skipped" if answer.skips else "answered", signal, ms)
        if called and auto.hops < MOST_HOPS:
            self._update(room, called=[i for i in room.agents if i in called or i in room.mentioned])
        if answer.ends and not self.heeds_keyword(room, auto.turns):
            minimum = room.settings.min_turns
            self._emit(e.KeywordIgnored(roomId=room.id, agentId=agent.id, turn=auto.turns, minTurns=minimum))
        if reason := self._ending(room).met(self._view(room, keyword=answer.ends)):
            if reason == "context_limit":
                self._say(room, "error", "Conversation approaching model context limit")
            self._end(room, reason, agent.id)

    def _called(self, room: Room, text: str, author: str) -> list[str]:
        """Whom somebody has addressed, of those who take part (D6)."""
        people = {i: agent.name for i in room.agents if (agent := self.state.agents[i]).participating}
        return mentions.find(text, people, author)

    # -- what ends it ---------------------------------------------------------------------------------------------

    def heeds_keyword(self, room: Room, turns: int) -> bool:
        """Whether the keyword, said in this turn, ends it (A10)."""
        return turns >= room.settings.min_turns

    def _go_on(self, room: Room) -> None:
        assert room.auto is not None
        if room.auto.wave:
            return
        if room.settings.response_delay > 0 and room.auto.turns:
            self._update(room, next_at=self.now + room.settings.response_delay)
        else:
            self._ask_next(room)

    def _ending(self, room: Room) -> Ending:
        settings = room.settings
        return (
            Keyword(settings.min_turns) | Elapsed(settings.max_duration_ms / 1000) | Messages(settings.max_messages)
            | AllSkipped() | ContextFull() | Spent(settings.max_tokens, settings.max_cost_usd)
        )  # fmt: skip

    def _view(self, room: Room, *, keyword: bool = False) -> View:
        auto = room.auto
        assert auto is not None
        members = [self.state.agents[agent_id] for agent_id in room.agents]
        return View(
            turns=auto.turns, messages=auto.messages, keyword_said=keyword, skips_in_a_row=auto.skips_in_a_row,
            elapsed=room.settings.max_duration_ms / 1000 - (auto.ends_at - self.now),
            participants=sum(agent.participating for agent in members), tokens=auto.tokens, cost_usd=auto.cost_usd,
            context_share=max((a.context_tokens / a.context_max for a in members if a.context_max), default=0.0),
        )  # fmt: skip
