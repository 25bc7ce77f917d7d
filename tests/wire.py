"""Messages of clients, made out of their types: what the schema allows, and what it does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from msgspec import inspect

from supervisor.core import inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

KNOWN = (
    "room_001", "room_002", "agent_001", "agent_002", "msg_000001", "fake", "claude", "Ada", "Bo", "Cy", "debate",
    "walk-to-agent", "END", "../../etc/passwd", "", " ", "\x1b]52;c;aGk=\x07", "@Ada", "<b>", "\u202e", "\0",
)  # fmt: skip
"""What means something here, and what means something elsewhere."""
COMMANDS: tuple[inspect.StructType, ...] = tuple(
    kind for kind in inspect.multi_type_info(inputs.AnyCommand.__args__) if isinstance(kind, inspect.StructType)
)


def tag_of(kind: inspect.StructType) -> str:
    return str(kind.tag)


def fitting(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Values that a type allows."""
    match kind:
        case inspect.StructType():
            must = {f.encode_name: fitting(f.type) for f in kind.fields if f.required}
            may = {f.encode_name: fitting(f.type) for f in kind.fields if not f.required and f.name != "request_id"}
            fields = st.fixed_dictionaries(must, optional=may)
            return fields.map(lambda made: {**made, "type": kind.tag}) if kind.tag_field else fields
        case inspect.UnionType():
            return st.one_of([fitting(one) for one in kind.types])
        case inspect.StrType():
            free = st.text(st.characters(exclude_categories=["Cs"]), max_size=min(kind.max_length or 60, 60))
            return st.one_of(st.sampled_from(KNOWN), free)
        case inspect.IntType():
            return st.one_of(st.integers(0, 5), st.integers(kind.ge or -(2**63), kind.le or 2**63 - 1))
        case inspect.FloatType():
            return st.floats(allow_nan=False, allow_infinity=False)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.ListType():
            return st.lists(fitting(kind.item_type), max_size=4)
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
    raise AssertionError(f"no values for {kind}")


rubbish = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(KNOWN),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KNOWN), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def message(draw: st.DrawFn) -> str:
    """Mostly what is allowed; sometimes with a field of another kind, a field too many or cut off."""
    kind = draw(st.sampled_from(COMMANDS))
    made = draw(fitting(kind))
    how = draw(st.sampled_from(["whole"] * 6 + ["wrong", "more", "cut"]))
    if how == "wrong":
        made[draw(st.sampled_from(sorted(made)))] = draw(rubbish)
    elif how == "more":
        made[draw(st.sampled_from(["command", "cwd", "environment", "arguments", "file"]))] = draw(rubbish)
    text = json.dumps(made)
    return text[: draw(st.integers(0, len(text)))] if how == "cut" else text


def smallest(kind: inspect.Type) -> Any:
    """One value that a type allows, as plain as can be."""
    match kind:
        case inspect.StructType():
            made = {f.encode_name: smallest(f.type) for f in kind.fields if f.required}
            return {**made, "type": kind.tag} if kind.tag_field else made
        case inspect.StrType():
            return "x"
        case inspect.IntType() | inspect.FloatType():
            return 1
        case inspect.BoolType():
            return True
        case inspect.ListType():
            return []
        case inspect.LiteralType():
            return kind.values[0]
    raise AssertionError(f"no value for {kind}")


def structs(kind: inspect.Type) -> Iterator[inspect.StructType]:
    """A type and everything it is made of."""
    match kind:
        case inspect.StructType():
            yield kind
            for field in kind.fields:
                yield from structs(field.type)
        case inspect.UnionType():
            for one in kind.types:
                yield from structs(one)
        case inspect.ListType():
            yield from structs(kind.item_type)
