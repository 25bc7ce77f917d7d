"""Who may come in: Host, Origin, method, path and token. Pure; the server asks before it does anything."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.store.folder import Tokens

Scope = Literal["operator", "viewer"]

POLICY = "; ".join([
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
    "font-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
])  # fmt: skip
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


class Denied(NamedTuple):
    status: int
    text: str


class Gate:
    """Knows the address of the server and its tokens."""

    def __init__(self, port: int, tokens: Tokens) -> None:
        self._hosts = {f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")}
        if port == 80:
            self._hosts |= {"127.0.0.1", "localhost", "[::1]"}
        self._tokens = tokens

    def check(self, method: str, hosts: Sequence[str], origins: Sequence[str], socket: bool) -> Denied | None:
        """A request's headers; None means welcome. A page of somebody else may neither read nor speak."""
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return Denied(421, "This is not the host that was asked for.")
        if origins and (len(origins) > 1 or origins[0].lower().removeprefix("http://") not in self._hosts):
            return Denied(403, "Pages from elsewhere are not let in.")
        if method not in ("GET", "HEAD") or (socket and method != "GET"):
            return Denied(405, "Only GET.")
        return None

    def scope(self, token: str) -> Scope | None:
        """What a token allows; compared in constant time."""
        given = token.encode("utf-8", "surrogatepass")
        if hmac.compare_digest(given, self._tokens.operator.encode()):
            return "operator"
        if hmac.compare_digest(given, self._tokens.viewer.encode()):
            return "viewer"
        return None


def bearer(headers: Sequence[str]) -> str | None:
    """The token of an Authorization header, where there is one."""
    kind, _, token = (headers[0] if len(headers) == 1 else "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None
