"""Codex: its app-server, long-lived, JSON-RPC on stdin; each prompt carries our id into its transcript."""

from __future__ import annotations

import re
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from supervisor.records import (
    AnyRecord,
    Delta,
    Failure,
    PromptTaken,
    RateLimit,
    Ready,
    Retry,
    SessionLost,
    Text,
    TurnEnd,
    Window,
)

from .base import Backend, Launch, Reply, SignIn, count, line_of, rows, table, version_of, what_it_wants, whole_wish
from .codex_lines import CodexTranscript, failure
from .rpc import UNANSWERED, Heard, Permission, RpcDialogue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .base import Decoder, Dialogue

SHELL = ("shell_tool", "unified_exec")
"""What it reads with; switched off where there is only talk."""
BEYOND = ("multi_agent", "goals", "view_image", "apps", "plugins", "image_generation", "tool_suggest", "hooks")
"""What is switched off also where it may read."""
ALONE = ('web_search="disabled"', "notify=[]")
"""Neither of them looks for anything outside, or has its user's programs told."""
UNTOLD = ("project_doc_max_bytes=0", "skills.include_instructions=false")
"""Who only talks is told nothing of what its user wrote for working."""
SANDBOX = {"none": "read-only", "read": "read-only", "ask": "workspace-write", "all": "workspace-write"}
POLICY = {"none": "never", "read": "never", "ask": "untrusted", "all": "on-request"}


class Codex(Backend):
    """Starts, resumes and finds Codex."""

    name = "codex"
    program = ("codex",)
    allow = ("OPENAI_*", "CODEX_*", "AZURE_OPENAI_*")
    oldest, tested = "0.169.0", "0.169.0"
    install = "npm install -g @openai/codex"
    sign_in = SignIn(
        command=("login", "status"),
        how="run `codex login`, or `codex login --with-api-key`; a provider in its config.toml with a key of its own "
        "needs neither",
    )
    parameters = None

    def command(self, launch: Launch) -> list[str]:
        command = [*(launch.command or self.program), "app-server"]
        talks = launch.tools == "none"
        if talks or launch.tools == "read":
            command += [word for setting in (*ALONE, *(UNTOLD if talks else ())) for word in ("-c", setting)]
            command += [word for name in (*BEYOND, *(SHELL if talks else ())) for word in ("--disable", name)]
        for name, value in launch.parameters.items():
            command += ["-c", f"{name}={line_of(value).decode().strip()}"]  # such JSON is TOML, too
        return [*command, *launch.arguments]

    def watched(self, launch: Launch, environment: Mapping[str, str]) -> Path:
        home = environment.get("CODEX_HOME")
        return (Path(home) if home else Path(environment.get("HOME", "~")).expanduser() / ".codex") / "sessions"

    def locate(self, launch: Launch, environment: Mapping[str, str]) -> Path | None:
        if not launch.own_id:
            return None
        found = self.watched(launch, environment).glob(f"*/*/*/rollout-*{escape(launch.own_id)}.jsonl")
        return next(iter(sorted(found)), None)

    def decoder(self) -> Decoder:
        return CodexTranscript()

    def dialogue(self, launch: Launch) -> Dialogue:
        return CodexDialogue(launch)


class CodexDialogue(RpcDialogue):
    """One app-server with one thread."""

    def __init__(self, launch: Launch) -> None:
        super().__init__(launch)
        self._thread = launch.own_id
        self._version = ""
        self._turn = ""  # its name for the running turn
        self._ask = ""
        self._turns: dict[str, str] = {}  # whose turn it was
        self._held: set[str] = set()  # prompts that stand in its session without an answer
        self._said = ""
        self._limit: RateLimit | None = None
        self._changes: dict[str, str] = {}  # what it wants to do to files, by item

    def open(self) -> bytes:
        client = {"name": "office-supervisor", "title": "Office Supervisor", "version": "1"}
        return self.request("initialize", "initialize", {"clientInfo": client})

    def ask(self, ask_id: str, prompt: str) -> bytes:
        self._ask, self._turn, self._said = ask_id, "", ""
        self._changes.clear()
        text = UNANSWERED if ask_id in self._held else prompt
        self._held.discard(ask_id)
        params = {"threadId": self._thread, "clientUserMessageId": ask_id, "input": [{"type": "text", "text": text}]}
        return self.request(f"turn {ask_id}", "turn/start", params)

    def interrupt(self) -> bytes:
        if not self._turn:
            return b""
        return self.deny_all() + self.request(
            "interrupt", "turn/interrupt", {"threadId": self._thread, "turnId": self._turn}
        )

    # -- what comes -----------------------------------------------------------------------------------------------

    def answered(self, to: str, heard: Heard) -> Reply:
        result = table(heard.result)
        what, _, ask_id = to.partition(" ")
        if heard.error is not None:
            return Reply(self._refused(what, ask_id, heard.error.message))
        match what:
            case "initialize":
                agent = str(result.get("userAgent", "")).partition("/")[2]
                self._version = ".".join(str(part) for part in version_of(agent))
                return Reply([], self.notify("initialized", {}) + self._config_request())
            case "config":
                return self._begin(table(table(result.get("config")).get("mcp_servers")))
            case "thread":
                thread = table(result.get("thread"))
                self._thread = str(thread.get("id", ""))
                self._held = _unanswered(rows(thread.get("turns")))
                model = str(result.get("model") or "")
                return Reply([Ready(version=self._version, model=model, session=self._thread)])
            case "turn":
                self._begins(table(result.get("turn")), ask_id)
        return Reply([])

    def _begins(self, turn: dict[str, Any], ask_id: str) -> None:
        """The answer to `turn/start` and `turn/started` may come in either order."""
        name = str(turn.get("id") or "")
        if ask_id == self._ask and name not in self._turns:
            self._turns = {name: ask_id}
            self._turn = name

    def _begin(self, servers: dict[str, Any]) -> Reply:
        """Who only talks or reads gets none of the user's own tool servers, which no sandbox holds."""
        if self.launch.resume and not self.launch.own_id:
            return Reply([SessionLost(reason="what it called its session is not known any more")])
        off = servers if self.launch.tools in ("none", "read") else {}
        servers_off = {"mcp_servers": {name: {"enabled": False} for name in off}} if off else {}
        return Reply([], self._thread_request(servers_off))

    def _config_request(self) -> bytes:
        """As it is where it works: a project may have tool servers, too."""
        return self.request("config", "config/read", {"cwd": self.launch.place})

    def _thread_request(self, config: dict[str, Any]) -> bytes:
        launch = self.launch
        params: dict[str, Any] = {
            "cwd": launch.place, "sandbox": SANDBOX[launch.tools], "approvalPolicy": POLICY[launch.tools],
        }  # fmt: skip
        if launch.instructions:
            params["baseInstructions" if launch.tools == "none" else "developerInstructions"] = launch.instructions
        if launch.model:
            params["model"] = launch.model
        if config:
            params["config"] = config
        if launch.resume and launch.own_id:
            return self.request("thread", "thread/resume", {**params, "threadId": launch.own_id})
        return self.request("thread", "thread/start", params)

    def _refused(self, what: str, ask_id: str, why: str) -> list[AnyRecord]:
        if what == "config":
            return [Failure(kind="unknown", message=f"its configuration cannot be read: {why}")]
        if what == "thread" and self.launch.resume:
            return [SessionLost(reason=why)]
        if what in ("initialize", "thread"):
            return [Failure(kind="unknown", message=why)]
        if what == "turn":
            return [
                PromptTaken(ask_ids=(ask_id,), state="started"),
                Failure(kind="unknown", message=why),
                TurnEnd(ask_ids=(ask_id,), outcome="failed", text=why),
            ]
        return []

    def told(self, method: str, params: dict[str, Any]) -> Reply:
        if params.get("threadId", self._thread) != self._thread:
            return Reply([])  # a thread of a sub-agent
        return Reply(self._told(method, params))

    def _told(self, method: str, params: dict[str, Any]) -> list[AnyRecord]:
        item = table(params.get("item"))
        match method:
            case "turn/started":
                self._begins(table(params.get("turn")), self._ask)
                return [PromptTaken(ask_ids=(self._ask,), state="started")]
            case "item/agentMessage/delta":
                return [Delta(text=str(params.get("delta", "")), message_id=str(params.get("itemId", "")))]
            case "item/completed" if item.get("type") == "agentMessage" and item.get("text"):
                self._said = str(item["text"])
                name = str(item.get("id", ""))
                return [Text(uuid=name, message_id=name, text=self._said)]
            case "thread/tokenUsage/updated":
                window = count(table(params.get("tokenUsage")).get("modelContextWindow"))
                return [Window(tokens=window)] if window else []
            case "item/started" if item.get("type") == "fileChange":
                changes = (
                    f"{change.get('path', '')}:\n{change.get('diff', '')}" for change in rows(item.get("changes"))
                )
                self._changes[str(item.get("id", ""))] = "\n".join(changes)
            case "error":
                return self._error(params)
            case "account/rateLimits/updated":
                self._limit = _limit(table(params.get("rateLimits")))
                return [self._limit] if self._limit is not None else []
            case "turn/completed":
                return self._completed(table(params.get("turn")))
        return []

    def _error(self, params: dict[str, Any]) -> list[AnyRecord]:
        error = table(params.get("error"))
        gone = failure(error.get("message"), error.get("codexErrorInfo"), error.get("additionalDetails"))
        if not params.get("willRetry"):
            return [gone]
        tries = re.search(r"(\d{1,6})/(\d{1,6})$", str(error.get("message", "")), re.ASCII)
        attempt, most = (int(tries[1]), int(tries[2])) if tries else (0, 0)
        return [Retry(attempt=attempt, max_retries=most, delay_ms=0, kind=gone.kind, status=gone.status)]

    def _completed(self, turn: dict[str, Any]) -> list[AnyRecord]:
        if str(turn.get("id") or "") not in self._turns:
            return []  # one that was given up before, or that it began by itself
        records = self.nobody_waits()
        status = turn.get("status")
        self._turn, self._turns = "", {}
        if status == "interrupted":
            return [*records, TurnEnd(ask_ids=(self._ask,), outcome="interrupted")]
        if status == "failed":
            error = table(turn.get("error"))
            gone = failure(error.get("message"), error.get("codexErrorInfo"), error.get("additionalDetails"))
            if _is_used_up(error.get("codexErrorInfo")) and self._limit is not None and self._limit.resets_at:
                records.append(RateLimit(status="rejected", resets_at=self._limit.resets_at, limit=self._limit.limit))
            return [*records, gone, TurnEnd(ask_ids=(self._ask,), outcome="failed", text=gone.message)]
        return [*records, TurnEnd(ask_ids=(self._ask,), outcome="answered", text=self._said)]

    def wanted(self, rpc_id: int | str, method: str, params: dict[str, Any]) -> Reply:
        yes_no = Permission(rpc_id, {"decision": "accept"}, {"decision": "decline"})
        item = str(params.get("itemId", ""))
        reason = str(params.get("reason") or "")
        match method:
            case "item/commandExecution/requestApproval":
                command = whole_wish(str(params.get("command") or reason))
                return self.decide(yes_no, "command", command, item)
            case "item/fileChange/requestApproval":
                changes = self._changes.get(item) or reason or "change files"
                return self.decide(yes_no, "file change", whole_wish(changes), item)
            case "item/permissions/requestApproval":
                granted = {"permissions": table(params.get("permissions")), "scope": "turn"}
                nothing = {"permissions": {}, "scope": "turn"}
                wish = what_it_wants({"reason": reason, **granted})
                return self.decide(Permission(rpc_id, granted, nothing), "more rights", wish, item)
        return self.refuse(rpc_id, method)


def _unanswered(turns: list[dict[str, Any]]) -> set[str]:
    """The prompts of a resumed thread that were cut off."""
    if not turns or turns[-1].get("status") == "completed":
        return set()
    said = (item for item in rows(turns[-1].get("items")) if item.get("type") == "userMessage")
    return {str(item["clientId"]) for item in said if item.get("clientId")}


def _is_used_up(info: object) -> bool:
    """Whether it is the account's limit that was reached, which takes hours: a passing refusal is another thing."""
    return str(info).replace("_", "").lower() == "usagelimitexceeded"


def _limit(limits: dict[str, Any]) -> RateLimit | None:
    """The window that is used up most; of two that are used up, the one that takes longer."""
    windows = [w for name in ("primary", "secondary") if isinstance(w := limits.get(name), dict)]
    if not windows:
        return None
    worst = max(windows, key=lambda window: (min(100, count(window.get("usedPercent"))), count(window.get("resetsAt"))))
    used = count(worst.get("usedPercent")) / 100
    return RateLimit(
        status="used up" if used >= 1 else "allowed", resets_at=count(worst.get("resetsAt")) or None,
        limit=str(limits.get("limitId") or ""), utilization=used,
    )  # fmt: skip
