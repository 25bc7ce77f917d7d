"""Auto mode: whose turn it is, what an answer means, and what ends it all.

Asks go out in waves: one at a time in rotation, several at once for mentions and in manual mode. Answers are
released in the order of their wave, whoever is faster.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.core.parts import Parts
from supervisor.errors import Refused

from . import mentions, speech, topics
from .endings import AllSkipped, ContextFull, Elapsed, Ending, Keyword, Messages, Spent, View
from .pausing import LONGEST_PAUSE
from .settings import problem_of

if TYPE_CHECKING:
    from supervisor.core.state import Agent, Ask, Auto, Room

LONGEST_TOPIC = 4000
CONTEXT_LIMIT = "Conversation approaching model context limit"
CONCLUDED: tuple[e.EndReason, ...] = ("keyword", "timer", "all_skipped", "message_limit", "budget")
"""The ends after which a result is asked for, where a room wants one."""
MOST_HOPS = 6
"""How many turns in a row may be taken by mention before the order has its way again."""


class Turns(Parts):
    """The part of the core that conducts conversations."""

    # -- beginning and ending -------------------------------------------------------------------------------------

    def _start_auto(self, given: inputs.StartAutoMode, *, unattended: bool = False) -> None:
        own = [room for room in self.state.rooms.values() if not room.guests]
        room = self._room(given.roomId) if given.roomId is not None or own else None
        if room is not None and room.auto is not None:
            raise Refused("invalid_state", f"Auto mode is running in {room.name} already.")
        if room is not None:
            self._check_start(room)
        settings = self._settings(room.settings if room else self.rules.settings, given)
        topic = self._checked_topic(given.topic, settings.keyword)
        if room is not None:
            self._call_back(room)
        members = self._members(room, given.agents)
        if room is None:
            room = self._open_room("", settings)
        before = list(room.agents)
        if settings != room.settings or members != room.agents:
            self._update(room, settings=settings, members=members)
        for agent_id in [*before, *members]:
            if (agent_id in before) != (agent_id in members):
                agent, how = self.state.agents[agent_id], "joined" if agent_id in members else "left"
                self._say(room, "system", f"{agent.name} | {agent.role} {how} the conversation")
        self._top_up(room)
        for agent_id in room.agents:
            self._free_up(self.state.agents[agent_id], "auto mode begins")
        said = [m for m in room.messages if m.active and m.type in ("user", "agent")]
        seed = given.seed if given.seed is not None else f"{self.rules.office_id} {self.state.message_count}"
        fresh = topic or (topics.draw(seed) if not said else "")
        if fresh:
            self._say(room, "user", fresh, e.TOPIC, "Topic")
        else:
            fresh = next((m.content for m in reversed(said) if m.type == "user"), room.topic or room.name)
        self._emit(e.AutoModeStarted(
            roomId=room.id, agents=list(room.agents), topic=fresh, unattended=unattended,
            interactionPattern=settings.interaction_pattern, endsAt=self.now + settings.max_duration_ms / 1000,
        ))  # fmt: skip
        self._say(room, "system", "Auto mode started")
        if called := self._called(room, topic, e.PERSON):
            self._update(room, called=called)
        self._stage_beginning(room)
        self._ask_next(room)

    def _check_start(self, room: Room) -> None:
        if room.pending:
            raise Refused("invalid_state", "There are answers that wait: take or dismiss them first.")
        if any(ask.room_id == room.id for ask in self.state.asks.values()):
            raise Refused("invalid_state", "Somebody is still answering: wait for it, or stop it first.")
        self._check_budget(room)
        if ContextFull().met(View(context_share=self._context_share(room))):
            raise Refused("limit_reached", f"{CONTEXT_LIMIT}: start a new conversation.")

    def _check_budget(self, room: Room) -> None:
        """What a room may cost holds over all its conversations."""
        if self._spent(room).met(View(tokens=room.tokens, cost_usd=room.cost_usd)):
            raise Refused("limit_reached", f"The budget of {room.name} is spent: raise it in its settings.")

    def _members(self, room: Room | None, wanted: list[str] | None) -> list[str]:
        if wanted is None:
            return list(room.agents) if room else []
        if len(set(wanted)) < len(wanted):
            raise Refused("bad_message", "An agent is named twice.")
        for agent_id in wanted:
            home = self._agent(agent_id).room_id
            if home is not None and (room is None or home != room.id):
                raise Refused("invalid_state", f"{self._agent(agent_id).name} is in another room.")
        names = [self._agent(agent_id).name.lower() for agent_id in wanted]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise Refused("name_taken", f"There are two called {twice}: within a room every name is there once.")
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
        if reason == "context_limit":
            self._say(room, "error", CONTEXT_LIMIT)
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
        if room.settings.outcome and reason in CONCLUDED and self._speakers(room):
            self._request_outcome(room)
        if room.guests and not kept:
            self._go_back(room)

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
            times += [self._gives_up(ask) for ask in self._waited_for(auto)]
        times += [self._gives_up(ask) for ask in self._manual_asks()]
        times += self._permission_times()
        times += [due for due, _ in self._strolls()]
        times += [due for due, _ in self._decision_times()]
        return min(times, default=None)

    def _waited_for(self, auto: Auto) -> list[Ask]:
        return [ask for ask_id in auto.wave if (ask := self.state.asks[ask_id]).answer is None]

    def _gives_up(self, ask: Ask) -> float:
        """Until when it is waited for; a start begins that anew, as does what a CLI from before it still writes, and a
        change of the setting counts at once."""
        waits = (permission.until for permission in self.state.agents[ask.agent_id].permissions)  # not its own fault
        since = max([ask.since, self.woke_at, self.at_work.get(ask.id, 0.0), *waits])
        return since + self.state.rooms[ask.room_id].settings.max_wait_time

    def _due(self) -> None:
        self._permissions_due()
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
            late = next((ask for ask in self._waited_for(auto) if self.now >= self._gives_up(ask)), None)
            if late is not None:
                seconds = f"{room.settings.max_wait_time:g} s"
                self._failed(room, late, f"no answer within {seconds}", "max_wait", late=True)
            elif auto.next_at is not None and self.now >= auto.next_at:
                self._ask_next(room)
        for ask in self._manual_asks():
            if self.now >= self._gives_up(ask):
                room = self.state.rooms[ask.room_id]
                seconds = f"{room.settings.max_wait_time:g} s"
                self._manual_failed(room, ask, f"no answer within {seconds}", late=True)
                self._ask_due(room)
        for due, agent in list(self._strolls()):
            if self.now >= due:
                self._stroll(agent)
        self._decisions_due()

    # -- asking ---------------------------------------------------------------------------------------------------

    def _ask_next(self, room: Room, *, anyway: bool = False) -> None:
        """Those who were addressed by name, all at once; else who is next in the order; later, where one is limited."""
        called = [self.state.agents[agent_id] for agent_id in room.agents if agent_id in room.mentioned]
        called = [agent for agent in called if agent.participating and agent.ask_id is None]
        due = called or self._due_agent(room)
        limited = max((self.state.limits.get(agent.backend, 0.0) for agent in due), default=0.0)
        if limited > self.now and not anyway:
            self._pause(room, "rate_limit", limited, "a rate limit is not over yet")
        elif due:
            self._ask_wave(room, due, mentioned=bool(called))
        else:
            self._pause(room, "nobody", None, "everybody is paused")

    def _due_agent(self, room: Room) -> list[Agent]:
        order = room.agents[room.current_index :] + room.agents[: room.current_index]
        free = (a for i in order if (a := self.state.agents[i]).participating and a.ask_id is None)
        return [*itertools.islice(free, 1)]

    def _ask_wave(self, room: Room, due: list[Agent], *, mentioned: bool = False) -> None:
        for agent in due:
            self._ask(room, agent, mentioned=mentioned)
        self._update(room)

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
            self._settle(room, at_once=True)
        elif over.status == "exited" and not ask.restarted:
            self._ask_again(ask, over.detail)
        elif over.status == "exited":
            by = ask.agent_id
            self._complain(room, ask, over.detail)
            self._turn_ended(ask, "failed", over.signal, over.ms, over.detail)
            self._end(room, "agent_exit", by, over.detail)
        elif over.kind == "context" and over.status == "failed":
            by = ask.agent_id
            self._turn_ended(ask, "failed", over.signal, over.ms, over.detail)
            self._end(room, "context_limit", by, over.detail)
        else:
            reason: e.PauseReason = "rate_limit" if over.kind == "rate_limit" else "failure"
            self._failed(room, ask, over.detail or over.status, reason, over=over)

    def _release(self, room: Room, ask: Ask, answer: e.Answer, over: inputs.TurnOver) -> None:
        """An answer counts when all before it in the wave are in; one with the keyword waits for nobody."""
        auto = room.auto
        assert auto is not None
        if auto.wave[0] == ask.id:
            self._take(room, ask, answer, over.signal, over.ms)
            self._settle(room)
            return
        self._emit(e.AnswerHeld(agent_id=ask.agent_id, room_id=room.id, ask_id=ask.id, answer=answer))
        if answer.ends and self.heeds_keyword(room, auto.turns + auto.wave.index(ask.id) + 1):
            for before in [*auto.wave[: auto.wave.index(ask.id)]]:
                if self.state.asks[before].answer is None:
                    self._drop(self.state.asks[before], "interrupted", "keyword")
            self._settle(room)

    def _settle(self, room: Room, *, at_once: bool = False) -> None:
        """Whatever a wave was waiting for is in, or will not come."""
        auto = room.auto
        self._take_held(room)
        if room.auto is None or room.auto is not auto or auto.wave or auto.paused is not None:
            return
        if at_once:
            self._ask_next(room)
        else:
            self._go_on(room)

    def _take_held(self, room: Room) -> None:
        auto = room.auto
        while auto is not None and room.auto is auto and auto.wave:
            held = self.state.asks[auto.wave[0]]
            if held.answer is None:
                return
            self._take(room, held, held.answer, "transcript", 0)

    def _take(self, room: Room, ask: Ask, answer: e.Answer, signal: str, ms: int) -> None:
        agent, auto = self.state.agents[ask.agent_id], room.auto
        assert auto is not None
        called: list[str] = []
        self._not_limited(room, ask)
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
                agent_id=agent.id, name=agent.name, content=answer.text, recipients=recipients, room_id=room.id
            ))  # fmt: skip
            called = self._called(room, answer.text, agent.id)
        elif answer.skips:
            self._say_skipped(room, agent, answer.reason)
        self._turn_ended(ask, "skipped" if answer.skips else "answered", signal, ms)
        if called and auto.hops < MOST_HOPS:
            self._update(room, called=[i for i in room.agents if i in called or i in room.mentioned])
        if answer.ends and not self.heeds_keyword(room, auto.turns):
            minimum = room.settings.min_turns
            self._emit(e.KeywordIgnored(roomId=room.id, agentId=agent.id, turn=auto.turns, minTurns=minimum))
        if reason := self._ending(room).met(self._view(room, keyword=answer.ends)):
            self._end(room, reason, agent.id)

    def _called(self, room: Room, text: str, author: str) -> list[str]:
        """Whom somebody has addressed, of those who take part (D6)."""
        people = {i: self.state.agents[i].name for i in room.agents}
        return [i for i in mentions.find(text, people, author) if self.state.agents[i].participating]

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
            | AllSkipped() | ContextFull() | self._spent(room)
        )  # fmt: skip

    def _spent(self, room: Room) -> Ending:
        return Spent(room.settings.max_tokens, room.settings.max_cost_usd)

    def _context_share(self, room: Room) -> float:
        """Of the one who has read most; who does not take part does not count."""
        members = [self.state.agents[agent_id] for agent_id in room.agents]
        shares = [a.context_tokens / a.context_max for a in members if a.context_max and a.participating]
        return max(shares, default=0.0)

    def _view(self, room: Room, *, keyword: bool = False) -> View:
        auto = room.auto
        assert auto is not None
        members = [self.state.agents[agent_id] for agent_id in room.agents]
        return View(
            turns=auto.turns, messages=auto.messages, keyword_said=keyword,
            skipped=sum(agent.id in auto.skipped for agent in members if agent.participating),
            elapsed=room.settings.max_duration_ms / 1000 - (auto.ends_at - self.now),
            participants=sum(agent.participating for agent in members), tokens=room.tokens, cost_usd=room.cost_usd,
            context_share=self._context_share(room),
        )  # fmt: skip
