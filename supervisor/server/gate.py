"""Who may come in: Host, Origin, method, path and token. Pure; the server asks before it does anything."""

from __future__ import annotations

import hmac
import ipaddress
import re
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.store.folder import Tokens

LOOPBACK = "127.0.0.1"
ORIGIN = re.compile(r"https?://(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
"""As browsers write it: in small letters, without a path, without the port that goes without saying."""
Scope = Literal["operator", "viewer"]

POLICY = "; ".join([
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
    "font-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    "require-trusted-types-for 'script'", "trusted-types 'none'",
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
    """Knows the names under which the server may be asked, and its tokens."""

    def __init__(self, port: int, tokens: Tokens, *, host: str = LOOPBACK, origins: Sequence[str] = ()) -> None:
        """`host` is what is listened on; `origins` are pages that come by another way, such as a forwarded port."""
        self.tokens = tokens
        self._port = port
        self._anywhere = ipaddress.ip_address(host).is_unspecified
        self._names = {"127.0.0.1", "localhost", "[::1]", bracketed(host)}
        self._origins = frozenset(origins)
        self._forwarded = frozenset(origin.partition("://")[2] for origin in origins)

    def check(self, method: str, hosts: Sequence[str], origins: Sequence[str], socket: bool) -> Denied | None:
        """A request's headers; None means welcome. A page of somebody else may neither read nor speak."""
        host = hosts[0].lower() if len(hosts) == 1 else ""
        if not self._is_ours(host):
            return Denied(421, "This is not the host that was asked for.")
        if origins and (len(origins) > 1 or not self._may_ask(origins[0], host)):
            return Denied(403, "Pages from elsewhere are not let in.")
        if method not in ("GET", "HEAD") or (socket and method != "GET"):
            return Denied(405, "Only GET.")
        return None

    def _is_ours(self, host: str) -> bool:
        """A name that leads here by chance, or by malice, is not ours; an address cannot be made to lead elsewhere."""
        if host in self._forwarded:
            return True
        name, port = split(host)
        if port != self._port:
            return False
        return name in self._names or (self._anywhere and is_address(name))

    def _may_ask(self, origin: str, host: str) -> bool:
        """A page asks the server that it came from, or was named as one that may."""
        return origin in self._origins or (host not in self._forwarded and origin == f"http://{host}")

    def scope(self, token: str) -> Scope | None:
        """What a token allows; compared in constant time."""
        given = token.encode("utf-8", "surrogatepass")
        if hmac.compare_digest(given, self.tokens.operator.encode()):
            return "operator"
        if hmac.compare_digest(given, self.tokens.viewer.encode()):
            return "viewer"
        return None

    def proofs(self, nonce: str, host: str) -> list[str]:
        """That we know the tokens, for somebody who knows one of them. The name that was asked for is part of it, so
        that a server at another port cannot pass it on as its own."""
        asked = f"{host} {nonce}".encode("utf-8", "surrogatepass")
        tokens = (self.tokens.operator, self.tokens.viewer)
        return [hmac.digest(token.encode(), asked, "sha256").hex() for token in tokens]


def nonce_of(path: str) -> str | None:
    """What a client asks us to prove ourselves with, where it does: /ws?nonce=…"""
    return parse_qs(path.partition("?")[2]).get("nonce", [None])[0]


def bearer(headers: Sequence[str]) -> str | None:
    """The token of an Authorization header, where there is one."""
    kind, _, token = (headers[0] if len(headers) == 1 else "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


def is_origin(text: str) -> bool:
    """Whether a browser would name a page like this."""
    return ORIGIN.fullmatch(text) is not None and not text.endswith(":80" if text.startswith("http://") else ":443")


def is_address(name: str) -> bool:
    """Whether a Host is an address and not a name."""
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def bracketed(address: str) -> str:
    """An address as it stands in a URL."""
    return f"[{address}]" if ":" in address else address


def split(host: str) -> tuple[str, int]:
    """The name and the port of a Host header; no port means 80."""
    name, colon, port = host.rpartition(":")
    if not colon or port.endswith("]"):
        return host, 80
    return name, int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else -1
