"""A model on loopback: the vendors' APIs as far as their CLIs need them, with scripted answers and faults.

    with Stub(script) as stub:
        stub.url                        # where the CLIs are sent
        stub.requests                   # what they asked, in order

A script gets what was asked and gives a `Say`, a `Use` of a tool, or a `Fault`; it is called in the server's threads.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INPUT_TOKENS, OUTPUT_TOKENS = 100, 20


@dataclass(frozen=True)
class Asked:
    """One request for an answer."""

    vendor: str
    system: str
    turns: tuple[tuple[str, str], ...]
    """Who said what, in order: `user`, `assistant` or `tool`."""
    tools: tuple[str, ...]
    model: str
    key: str
    body: dict[str, Any] = field(repr=False)

    @property
    def last(self) -> str:
        """What the user said last."""
        return next((text for who, text in reversed(self.turns) if who == "user"), "")

    @property
    def after_tool(self) -> bool:
        return bool(self.turns) and self.turns[-1][0] == "tool"

    @property
    def answers(self) -> int:
        """How often the model has answered in this session."""
        return sum(who == "assistant" for who, _ in self.turns)


@dataclass(frozen=True)
class Say:
    """Words, `pace` seconds between one and the next."""

    text: str
    pace: float = 0.0
    input_tokens: int = INPUT_TOKENS
    thinking: str = ""


@dataclass(frozen=True)
class Use:
    """A tool is to be used."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """No answer: a status with a body, silence (status 0), or a stream that is cut off after some words (status 1)."""

    status: int
    message: str = "It went wrong."
    code: str = ""
    headers: tuple[tuple[str, str], ...] = ()


Reply = Say | Use | Fault


class Stub:
    """The server; `script` may be exchanged at any time."""

    def __init__(self, script: Callable[[Asked], Reply]) -> None:
        self.script = script
        self.requests: list[Asked] = []
        self.strangers: list[str] = []
        """Requests for anything but an answer."""
        self.closing = threading.Event()
        self._changed = threading.Condition()
        stub = self

        class Handler(_Handler):
            server_stub = stub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Stub:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def asked(self, asked: Asked) -> Reply:
        with self._changed:
            self.requests.append(asked)
            self._changed.notify_all()
        return self.script(asked)

    def wait_for(self, happened: Callable[[], bool], seconds: float = 30.0) -> bool:
        """Until so much was asked; blocks."""
        with self._changed:
            return self._changed.wait_for(happened, seconds)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_stub: Stub

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._stranger()

    def do_HEAD(self) -> None:
        self._stranger()

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            body = json.loads(data or b"{}")
            if path.endswith("/v1/messages"):
                self._answer(_anthropic(body, self.headers), _Anthropic())
            elif path.endswith("/v1/responses"):
                self._answer(_responses(body, self.headers), _Responses())
            elif path.endswith("/chat/completions"):
                self._answer(_chat(body, self.headers), _Chat())
            elif ":streamGenerateContent" in path or ":generateContent" in path:
                model = path.rsplit("/", 1)[-1].split(":")[0]
                self._answer(_gemini(body, self.headers, model), _Gemini())
            elif path.endswith(("/count_tokens", ":countTokens")):
                self._send(200, {"input_tokens": INPUT_TOKENS, "totalTokens": INPUT_TOKENS})
            else:
                self._stranger()

    def _stranger(self) -> None:
        self.server_stub.strangers.append(f"{self.command} {self.path}")
        self._send(404, {"error": {"message": "not here", "code": 404}})

    def _send(self, status: int, body: object, headers: tuple[tuple[str, str], ...] = ()) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _answer(self, asked: Asked, api: _Api) -> None:
        reply = self.server_stub.asked(asked)
        if isinstance(reply, Fault) and reply.status > 1:
            self._send(reply.status, api.error(reply), reply.headers)
            return
        if isinstance(reply, Fault) and reply.status == 0:
            self.close_connection = True
            self.server_stub.closing.wait(120)
            return
        if not asked.body.get("stream", True) or ":generateContent" in self.path:
            self._send(200, api.whole(asked, reply if not isinstance(reply, Fault) else Say("")))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        cut = isinstance(reply, Fault)
        say = Say("I was about to") if isinstance(reply, Fault) else reply
        pace = say.pace if isinstance(say, Say) else 0.0
        for event in api.stream(asked, say):
            if cut and api.is_over(event):
                return
            self.wfile.write(api.encode(event))
            self.wfile.flush()
            if pace and self.server_stub.closing.wait(pace):
                return


class _Api:
    """How one vendor puts an answer."""

    def stream(self, asked: Asked, reply: Say | Use) -> Iterator[dict[str, Any]]:
        raise AssertionError

    def whole(self, asked: Asked, reply: Say | Use) -> dict[str, Any]:
        raise AssertionError

    def error(self, fault: Fault) -> object:
        raise AssertionError

    def is_over(self, event: dict[str, Any]) -> bool:
        """Whether the stream is cut before this."""
        raise AssertionError

    def encode(self, event: dict[str, Any]) -> bytes:
        name = f"event: {event['type']}\n" if "type" in event else ""
        return f"{name}data: {json.dumps(event)}\n\n".encode()


def _words(text: str) -> list[str]:
    return [word for word in text.replace(" ", " \0").split("\0") if word]


def _id(kind: str) -> str:
    return f"{kind}_{time.monotonic_ns():x}"


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            _plain(part.get("text", part.get("content", ""))) for part in content if isinstance(part, dict)
        )
    return ""


# -- Messages ----------------------------------------------------------------------------------------------------------


def _anthropic(body: dict[str, Any], headers: Any) -> Asked:
    turns = []
    for message in body["messages"]:
        content = message["content"]
        used = isinstance(content, list) and any(part.get("type") == "tool_result" for part in content)
        turns.append(("tool" if used else message["role"], _plain(content)))
    return Asked(
        "anthropic", _plain(body.get("system", "")), tuple(turns),
        tuple(t.get("name", "") for t in body.get("tools", [])), body.get("model", ""),
        headers.get("x-api-key") or headers.get("authorization") or "", body,
    )  # fmt: skip


class _Anthropic(_Api):
    def stream(self, asked: Asked, reply: Say | Use) -> Iterator[dict[str, Any]]:
        tokens = reply.input_tokens if isinstance(reply, Say) else INPUT_TOKENS
        usage = {
            "input_tokens": tokens,
            "output_tokens": 1,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        }
        message: dict[str, Any] = {
            "id": _id("msg"), "type": "message", "role": "assistant", "model": asked.model, "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        yield {"type": "message_start", "message": message}
        index = 0
        if isinstance(reply, Say):
            if reply.thinking:
                yield {
                    "type": "content_block_start",
                    "index": index,
                    "content_block": {"type": "thinking", "thinking": "", "signature": ""},
                }
                yield {
                    "type": "content_block_delta",
                    "index": index,
                    "delta": {"type": "thinking_delta", "thinking": reply.thinking},
                }
                yield {
                    "type": "content_block_delta",
                    "index": index,
                    "delta": {"type": "signature_delta", "signature": "c2lnbmVk"},
                }
                yield {"type": "content_block_stop", "index": index}
                index += 1
            yield {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
            for word in _words(reply.text):
                yield {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": word}}
        else:
            yield {
                "type": "content_block_start",
                "index": index,
                "content_block": {"type": "tool_use", "id": _id("toolu"), "name": reply.tool, "input": {}},
            }
            yield {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)},
            }
        yield {"type": "content_block_stop", "index": index}
        reason = "end_turn" if isinstance(reply, Say) else "tool_use"
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": OUTPUT_TOKENS},
        }
        yield {"type": "message_stop"}

    def whole(self, asked: Asked, reply: Say | Use) -> dict[str, Any]:
        text = reply.text if isinstance(reply, Say) else ""
        return {"id": _id("msg"), "type": "message", "role": "assistant", "model": asked.model,
                "stop_reason": "end_turn", "content": [{"type": "text", "text": text}], "stop_sequence": None,
                "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}}  # fmt: skip

    def error(self, fault: Fault) -> object:
        kinds = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
                 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}  # fmt: skip
        return {"type": "error", "error": {"type": kinds.get(fault.status, "api_error"), "message": fault.message}}

    def is_over(self, event: dict[str, Any]) -> bool:
        return bool(event["type"] == "content_block_stop")


# -- Responses ---------------------------------------------------------------------------------------------------------


def _responses(body: dict[str, Any], headers: Any) -> Asked:
    turns = []
    for item in body["input"]:
        if item.get("type") == "message" and item.get("role") in ("user", "assistant"):
            turns.append((item["role"], _plain(item["content"])))
        elif str(item.get("type")).endswith("_output"):
            turns.append(("tool", _plain(item.get("output"))))
    developer = [_plain(i["content"]) for i in body["input"] if i.get("role") == "developer"]
    tools = tuple(str(tool.get("name") or tool.get("type")) for tool in body.get("tools", []))
    system = "\n".join([body.get("instructions") or "", *developer])
    return Asked(
        "openai-responses", system, tuple(turns), tools, body.get("model", ""), headers.get("authorization") or "", body
    )


class _Responses(_Api):
    def _items(self, reply: Say | Use) -> Iterator[dict[str, Any]]:
        if isinstance(reply, Use):
            arguments = json.dumps(reply.arguments)
            yield {
                "type": "function_call",
                "id": _id("fc"),
                "call_id": _id("call"),
                "name": reply.tool,
                "arguments": arguments,
            }
            return
        if reply.thinking:
            summary = [{"type": "summary_text", "text": reply.thinking}]
            yield {"type": "reasoning", "id": _id("rs"), "summary": summary, "encrypted_content": "eA=="}
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        yield {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": content}

    def _usage(self, reply: Say | Use) -> dict[str, Any]:
        tokens = reply.input_tokens if isinstance(reply, Say) else INPUT_TOKENS
        return {"input_tokens": tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": OUTPUT_TOKENS,
                "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens + OUTPUT_TOKENS}  # fmt: skip

    def stream(self, asked: Asked, reply: Say | Use) -> Iterator[dict[str, Any]]:
        response: dict[str, Any] = {"id": _id("resp"), "object": "response", "model": asked.model}
        yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
        for index, item in enumerate(self._items(reply)):
            yield {
                "type": "response.output_item.added",
                "output_index": index,
                "item": {**item, "content": [], "status": "in_progress"},
            }
            if item["type"] == "message":
                for word in _words(item["content"][0]["text"]):
                    yield {"type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                           "content_index": 0, "delta": word}  # fmt: skip
            if item["type"] == "reasoning":
                yield {"type": "response.reasoning_summary_text.delta", "item_id": item["id"], "output_index": index,
                       "summary_index": 0, "delta": item["summary"][0]["text"]}  # fmt: skip
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [], "usage": self._usage(reply)},
        }

    def error(self, fault: Fault) -> object:
        return {"error": {"message": fault.message, "type": fault.code or "error", "code": fault.code or None}}

    def is_over(self, event: dict[str, Any]) -> bool:
        return bool(event["type"] == "response.output_item.done")


# -- Chat completions --------------------------------------------------------------------------------------------------


def _chat(body: dict[str, Any], headers: Any) -> Asked:
    messages = body["messages"]
    system = "\n".join(_plain(m["content"]) for m in messages if m["role"] in ("system", "developer"))
    turns = tuple((m["role"], _plain(m.get("content"))) for m in messages if m["role"] in ("user", "assistant", "tool"))
    tools = tuple(tool["function"]["name"] for tool in body.get("tools", []))
    return Asked("openai-chat", system, turns, tools, body.get("model", ""), headers.get("authorization") or "", body)


class _Chat(_Api):
    def _chunk(self, asked: Asked, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {
            "id": "chat",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": asked.model,
            "choices": [choice],
        }

    def stream(self, asked: Asked, reply: Say | Use) -> Iterator[dict[str, Any]]:
        yield self._chunk(asked, {"role": "assistant", "content": ""})
        if isinstance(reply, Use):
            function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
            call = {"index": 0, "id": _id("call"), "type": "function", "function": function}
            yield self._chunk(asked, {"tool_calls": [call]})
            tokens = INPUT_TOKENS
        else:
            for word in _words(reply.text):
                yield self._chunk(asked, {"content": word})
            tokens = reply.input_tokens
        yield self._chunk(asked, {}, "stop" if isinstance(reply, Say) else "tool_calls")
        usage = {"prompt_tokens": tokens, "completion_tokens": OUTPUT_TOKENS, "total_tokens": tokens + OUTPUT_TOKENS}
        yield {**self._chunk(asked, {}), "choices": [], "usage": usage}
        yield {"done": True}

    def encode(self, event: dict[str, Any]) -> bytes:
        return b"data: [DONE]\n\n" if event.get("done") else super().encode(event)

    def whole(self, asked: Asked, reply: Say | Use) -> dict[str, Any]:
        text = reply.text if isinstance(reply, Say) else ""
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return {"id": "chat", "object": "chat.completion", "created": 0, "model": asked.model, "choices": [choice],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}  # fmt: skip

    def error(self, fault: Fault) -> object:
        return {"error": {"message": fault.message, "type": fault.code or "error", "code": fault.code or None}}

    def is_over(self, event: dict[str, Any]) -> bool:
        return bool(event.get("choices") and event["choices"][0]["finish_reason"])


# -- generateContent ---------------------------------------------------------------------------------------------------


def _gemini(body: dict[str, Any], headers: Any, model: str) -> Asked:
    turns = []
    for content in body.get("contents", []):
        used = any("functionResponse" in part for part in content["parts"])
        who = "tool" if used else "assistant" if content.get("role") == "model" else "user"
        turns.append((who, _plain(content["parts"])))
    declared = (d["name"] for tool in body.get("tools", []) for d in tool.get("functionDeclarations", []))
    system = _plain(body.get("systemInstruction", {}).get("parts", []))
    return Asked("gemini", system, tuple(turns), tuple(declared), model, headers.get("x-goog-api-key") or "", body)


class _Gemini(_Api):
    def _chunk(self, reply: Say | Use, parts: list[dict[str, Any]], *, last: bool = False) -> dict[str, Any]:
        tokens = reply.input_tokens if isinstance(reply, Say) else INPUT_TOKENS
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
        if last:
            candidate["finishReason"] = "STOP"
        usage = {
            "promptTokenCount": tokens,
            "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": tokens + OUTPUT_TOKENS,
        }
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub", "responseId": "r"}

    def stream(self, asked: Asked, reply: Say | Use) -> Iterator[dict[str, Any]]:
        if isinstance(reply, Use):
            yield self._chunk(reply, [{"functionCall": {"name": reply.tool, "args": reply.arguments}}])
        else:
            if reply.thinking:
                yield self._chunk(reply, [{"text": reply.thinking, "thought": True}])
            for word in _words(reply.text):
                yield self._chunk(reply, [{"text": word}])
        yield self._chunk(reply, [], last=True)

    def whole(self, asked: Asked, reply: Say | Use) -> dict[str, Any]:
        return self._chunk(reply, [{"text": reply.text if isinstance(reply, Say) else ""}], last=True)

    def error(self, fault: Fault) -> object:
        details: list[dict[str, Any]] = []
        if delay := dict(fault.headers).get("retry-after"):
            details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{delay}s"})
        error = {"code": fault.status, "message": fault.message, "status": fault.code or "UNKNOWN", "details": details}
        return {"error": error}

    def is_over(self, event: dict[str, Any]) -> bool:
        return "finishReason" in event["candidates"][0]
