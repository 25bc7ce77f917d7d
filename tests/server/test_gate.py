"""Who is let in, without a socket."""

from __future__ import annotations

import hmac

import pytest

from supervisor.errors import Refused
from supervisor.server import protocol
from supervisor.server.gate import HEADERS, Gate, bearer, is_origin, nonce_of
from supervisor.store.folder import Tokens

TOKENS = Tokens(operator="op", viewer="vi")
GATE = Gate(8787, TOKENS)
HERE = "127.0.0.1:8787"


@pytest.mark.parametrize(
    ("method", "hosts", "origins", "socket", "status"),
    [
        ("GET", [HERE], [], False, None),
        ("GET", ["localhost:8787"], ["http://localhost:8787"], True, None),
        ("GET", ["[::1]:8787"], [], True, None),
        ("HEAD", [HERE], [], False, None),
        ("HEAD", [HERE], [], True, 405),
        ("POST", [HERE], [], False, 405),
        ("GET", [], [], False, 421),
        ("GET", [HERE, HERE], [], False, 421),
        ("GET", ["evil.example"], [], False, 421),
        ("GET", ["127.0.0.1:9999"], [], False, 421),
        ("GET", ["127.0.0.1"], [], False, 421),
        ("GET", [HERE], ["http://evil.example"], True, 403),
        ("GET", [HERE], ["https://127.0.0.1:8787"], True, 403),
        ("GET", [HERE], ["null"], True, 403),
        ("GET", [HERE], ["http://127.0.0.1:8787.evil.example"], True, 403),
        ("GET", [HERE], ["http://127.0.0.1:8787", "http://evil"], True, 403),
        ("GET", [HERE], ["http://127.0.0.1:8787"], True, None),
        ("GET", [HERE], ["127.0.0.1:8787"], True, 403),
        ("GET", [HERE], ["HTTP://127.0.0.1:8787"], True, 403),
        ("GET", [HERE], ["http://127.0.0.1:8787/"], True, 403),
        ("GET", [HERE], ["http://localhost:8787"], True, 403),
        ("GET", [HERE], ["http://[::1]:8787"], True, 403),
        ("GET", [HERE], [""], True, 403),
        ("GET", ["192.168.1.5:8787"], [], False, 421),
        ("GET", ["localhost:8787."], [], False, 421),
        ("GET", ["localhost.:8787"], [], False, 421),
    ],
)
def test_host_origin_and_method(
    method: str, hosts: list[str], origins: list[str], socket: bool, status: int | None
) -> None:  # fmt: skip
    denied = GATE.check(method, hosts, origins, socket)
    assert (denied.status if denied else None) == status


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("localhost:9000", "http://localhost:9000", None),
        ("localhost:9000", "", None),
        ("office.example", "https://office.example", None),
        (HERE, "https://office.example", None),
        (HERE, f"http://{HERE}", None),
        ("office.example", f"http://{HERE}", 403),
        ("office.example", "http://office.example", 403),
        ("office.example:8787", "https://office.example:8787", 421),
        (HERE, "https://office.example.evil", 403),
    ],
)
def test_a_forwarded_port_has_an_address_of_its_own(host: str, origin: str, status: int | None) -> None:
    """What was named with --allow-origin, as a Host and as an Origin, to the letter."""
    gate = Gate(8787, TOKENS, origins=["http://localhost:9000", "https://office.example"])
    denied = gate.check("GET", [host], [origin] if origin else [], True)
    assert (denied.status if denied else None) == status


@pytest.mark.parametrize(
    ("listens", "host", "status"),
    [
        ("192.168.1.5", "192.168.1.5:8787", None), ("192.168.1.5", "192.168.1.6:8787", 421),
        ("0.0.0.0", "192.168.1.6:8787", None), ("0.0.0.0", "[fe80::1]:8787", None),
        ("0.0.0.0", "rebound.example:8787", 421), ("0.0.0.0", "192.168.1.6:80", 421),
        ("::", "192.168.1.6:8787", None), ("::", "1.evil.example:8787", 421), ("::", "0x7f.1:8787", 421),
    ],
)  # fmt: skip
def test_an_address_may_be_asked_for_and_a_name_may_not(listens: str, host: str, status: int | None) -> None:
    """Whoever listens everywhere is asked by addresses, which nobody can make lead here from elsewhere."""
    denied = Gate(8787, TOKENS, host=listens).check("GET", [host], [f"http://{host}"], True)
    assert (denied.status if denied else None) == status


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("http://localhost:9000", True), ("https://office.example", True), ("http://[::1]:9000", True),
        ("http://localhost:9000/", False), ("localhost:9000", False), ("*", False), ("null", False),
        ("https://office.example:443", False), ("http://Office.example", False), ("ws://localhost:9000", False),
        ("http://a@b", False), ("http://*.example", False), ("", False),
    ],
)  # fmt: skip
def test_what_a_browser_would_call_a_page(text: str, fine: bool) -> None:
    assert is_origin(text) == fine


def test_tokens_and_what_they_allow() -> None:
    assert GATE.scope("op") == "operator"
    assert GATE.scope("vi") == "viewer"
    for wrong in ("", "OP", "op ", "ö", "\udcff", "x" * 10_000):
        assert GATE.scope(wrong) is None


def test_a_bearer_token() -> None:
    assert bearer(["Bearer abc"]) == "abc"
    assert bearer(["bearer abc"]) == "abc"
    for wrong in ([], ["Basic abc"], ["Bearer"], ["Bearer  "], ["Bearer a", "Bearer b"]):
        assert bearer(wrong) is None


def test_the_page_may_load_nothing_from_elsewhere() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
    assert "http" not in policy.replace("'self'", "")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad_message"),
        ("nonsense", "bad_message"),
        ("[]", "bad_message"),
        ("{}", "bad_message"),
        ('{"type":5}', "bad_message"),
        ('{"type":"hello","token":"x"}', "bad_message"),
        ('{"type":"fly"}', "unknown_type"),
        ('{"type":"startAutoMode","command":"rm"}', "bad_message"),
        ('{"type":"agent_spawn_request","agent_config":{"name":"A","role":"r","cwd":"/"}}', "bad_message"),
        ('{"type":"startAutoMode","maxMessages":"many"}', "bad_message"),
        ("[" * 100_000, "bad_message"),
    ],
)
def test_what_is_not_understood_is_refused_in_words(text: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        protocol.command(text, may_change=True)
    assert refused.value.code == code
    assert "\n" not in str(refused.value)


def test_a_viewer_may_ask_and_not_change() -> None:
    protocol.command('{"type":"get_agent_state","agent_id":"a"}', may_change=False)
    protocol.command('{"type":"get_history"}', may_change=False)
    for kind in protocol.TYPES - {"get_agent_state", "get_history"}:
        with pytest.raises(Refused):
            protocol.command(f'{{"type":"{kind}"}}', may_change=False)
    with pytest.raises(Refused) as refused:
        protocol.command('{"type":"stopAutoMode"}', may_change=False)
    assert refused.value.code == "forbidden"


@pytest.mark.parametrize(
    ("path", "nonce"),
    [("/ws", None), ("/ws?nonce=a", "a"), ("/ws?x=y&nonce=a&nonce=b", "a"), ("/ws?nonce=", None), ("/ws?%ff", None)],
)
def test_who_asks_for_a_proof(path: str, nonce: str | None) -> None:
    assert nonce_of(path) == nonce


def test_a_proof_holds_for_one_nonce_under_one_name() -> None:
    """With each token as the key, as everybody can reckon who knows it."""
    proofs = GATE.proofs("n", HERE)
    assert proofs == [hmac.new(key, b"127.0.0.1:8787 n", "sha256").hexdigest() for key in (b"op", b"vi")]
    assert not {*proofs} & {*GATE.proofs("m", HERE), *GATE.proofs("n", "localhost:8787"), *GATE.proofs("n", "\udcff")}
