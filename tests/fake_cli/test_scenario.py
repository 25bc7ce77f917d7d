"""Scenario files: what they may say, and one clear line where they say it wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from support import ROOT, FakeCli, toml_file

from fake_cli import scenario as scenario_module
from fake_cli.api_errors import API_ERRORS
from fake_cli.scenario import DAMAGE, EXTRAS, STEPS, BadScenario, check, load
from fake_cli.turn import Performance

if TYPE_CHECKING:
    from pathlib import Path

WRONG: dict[str, tuple[str, str]] = {
    "no TOML": ("[[turn", "Expected"),
    "unknown top key": ("speed = 3", "unknown key 'speed', expected one of after, start, turn"),
    "unknown after": ('after = "dance"', "after is 'dance', expected one of echo"),
    "empty turn": ("[[turn]]", "turn 1: nothing to do, expected say or steps"),
    "unknown step": ("[[turn]]\nsteps = [ { tex = 'x' } ]", "turn 1: step 1: expected exactly one of text"),
    "two steps in one": ("[[turn]]\nsteps = [ { text = 'x', wait = 1 } ]", "expected exactly one of text"),
    "unknown error": ("[[turn]]\nsteps = [ { error = 'teapot' } ]", "error is 'teapot', expected one of authentic"),
    "unknown damage": ("[[turn]]\nsteps = [ { damage = 'fire' } ]", "damage is 'fire', expected one of half"),
    "unknown extra": ("[[turn]]\nsteps = [ { text = 'x', loud = true } ]", "step 1: unknown key 'loud'"),
    "unknown usage": ("[[turn]]\nsay = 'x'\nusage = { tokens = 3 }", "usage: unknown key 'tokens'"),
    "a text that is none": ("[[turn]]\nsteps = [ { text = 5 } ]", "step 1: text is 5, expected str"),
    "a say that is none": ("[[turn]]\nsay = 5", "turn 1: say is 5, expected str or list"),
    "a say with a number": ("[[turn]]\nsay = [ 5 ]", "turn 1: say: text is 5, expected str"),
    "a wait that is none": ("[[turn]]\nsteps = [ { wait = 'x' } ]", "wait is 'x', expected int or float"),
    "a speed that is none": ("[[turn]]\nsay = 'x'\nspeed = 'fast'", "speed is 'fast', expected int or float"),
    "turns that are none": ("turn = 5", "turn is 5, expected list"),
    "steps that are none": ("[[turn]]\nsteps = 5", "steps is 5, expected list"),
    "a crash that is none": ("[[turn]]\nsteps = [ { crash = 'x' } ]", "crash is 'x', expected int"),
    "an unknown stop": ("[[turn]]\nsteps = [ { stop = 'foo' } ]", "stop is 'foo', expected one of max_tokens"),
    "an unknown stream": ("[[turn]]\nsteps = [ { flood = 1, stream = 'x' } ]", "expected one of stdout, stderr"),
    "a keyword in three": ("[[turn]]\nsteps = [ { keyword = 3 } ]", "keyword is 3, expected one of 1, 2"),
    "a step that is no table": ("[[turn]]\nsteps = [ 'x' ]", "expected exactly one of"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, name: str) -> None:
    text, message = WRONG[name]
    path = toml_file(tmp_path / "s.toml", text)
    with pytest.raises(BadScenario) as caught:
        load(str(path), API_ERRORS)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_program_says_it_in_one_line(tmp_path: Path) -> None:
    path = toml_file(tmp_path / "s.toml", 'after = "dance"')
    command = [sys.executable, "-P", "-m", "fake_cli", "-p", "x", "--scenario", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("fake-cli: ")
    assert (
        "/no/such.toml: cannot be read"
        in subprocess.run([*command[:-1], "/no/such.toml"], capture_output=True, text=True, cwd=tmp_path).stderr
    )


def test_json_does_as_well(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"turn": [{"say": "from JSON"}]}))
    assert load(str(path), API_ERRORS).turns[0].steps[0].value == "from JSON"


def test_every_step_can_be_performed_and_is_documented() -> None:
    """A step that is allowed has a method behind it, and stands in the docs with all that belongs to it."""
    docs = (ROOT / "docs" / "fake-cli.md").read_text()
    for kind in STEPS:
        assert hasattr(Performance, f"_do_{kind}")
        assert f"`{kind}`" in docs
        for extra in EXTRAS.get(kind, ()):
            assert f"`{extra}`" in docs
    for error in API_ERRORS:
        assert f"`{error}`" in docs


def play(tmp_path: Path, raw: dict[str, Any], prompts: int = 1) -> list[list[dict[str, Any]]]:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(raw))
    check(raw, "s.json", API_ERRORS)
    told = "End the conversation with the keyword [THE_END]."
    with FakeCli(tmp_path, "--scenario", str(path), "--system-prompt", told) as cli:
        found = []
        for number in range(prompts):
            cli.ask(f"prompt {number}")
            found.append(cli.until("result"))
        return found


def said(lines: list[dict[str, Any]]) -> list[str]:
    return [b["text"] for line in lines if line["type"] == "assistant" for b in line["message"]["content"]]


def test_skip_mention_and_keyword(tmp_path: Path) -> None:
    """D5, D6, A6: also split over two blocks of one message."""
    steps: list[dict[str, Any]] = [
        {"skip": True}, {"skip": "not my field"}, {"mention": "Bo", "text": "what do you say?"}, {"keyword": 1},
        {"keyword": 2},
    ]  # fmt: skip
    turns = play(tmp_path, {"turn": [{"steps": [step]} for step in steps]}, 5)
    assert [said(lines) for lines in turns] == [
        ["SKIP"], ["SKIP: not my field"], ["@Bo what do you say?"], ["[THE_END]"], ["[THE", "_END]"],
    ]  # fmt: skip
    ids = {line["message"]["id"] for line in turns[4] if line["type"] == "assistant"}
    assert len(ids) == 1


def test_usage_can_be_given(tmp_path: Path) -> None:
    """D12: a context that is nearly full."""
    usage = {"input": 1000, "cached": 180_000, "created": 5, "output": 77}
    (lines,) = play(tmp_path, {"turn": [{"say": "full", "usage": usage}]})
    found = lines[-1]["usage"]
    assert (found["input_tokens"], found["cache_read_input_tokens"], found["output_tokens"]) == (1000, 180_000, 77)
    assert lines[-1]["total_cost_usd"] > 0


@pytest.mark.parametrize(
    ("after", "expected"),
    [("echo", "echo: prompt 1"), ("repeat", "only"), ("skip", "SKIP"), ("persona", "On “prompt 0”")],
)
def test_what_comes_after_the_last_turn(tmp_path: Path, after: str, expected: str) -> None:
    turns = play(tmp_path, {"turn": [{"say": "only"}], "after": after}, 2)
    assert said(turns[0]) == ["only"]
    if after != "persona":
        assert said(turns[1]) == [expected]
    else:
        assert said(turns[1])[0]


def test_a_resumed_scenario_goes_on_with_its_next_turn(tmp_path: Path) -> None:
    """E2: the turn's number comes from the transcript."""
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"turn": [{"say": "first"}, {"say": "second"}]}))
    with FakeCli(tmp_path, "--scenario", str(path)) as cli:
        lines = cli.turn("a")
        session = next(line["session_id"] for line in lines if "session_id" in line)
        cli.finish()
    with FakeCli(tmp_path, "--scenario", str(path), "--resume", session) as cli:
        assert said(cli.turn("b")) == ["second"]


def test_the_examples_on_the_page_and_in_the_module_can_be_used() -> None:
    page = (ROOT / "docs" / "fake-cli.md").read_text()
    examples = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(examples) >= 2
    for text in [*examples, str(scenario_module.__doc__).partition("\n\n")[2]]:
        check(tomllib.loads(text), "example", API_ERRORS)


@pytest.mark.parametrize("kind", DAMAGE)
def test_it_can_resume_after_its_own_damage(tmp_path: Path, kind: str) -> None:
    """E2: as the real one, it leaves out what it cannot read."""
    path = tmp_path / "s.json"
    value = 0 if kind == "half" else 1000
    turn = {"steps": [{"damage": kind, "value": value}, {"text": "damaged"}]}
    path.write_text(json.dumps({"turn": [{"say": "first"}, turn]}))
    with FakeCli(tmp_path, "--scenario", str(path)) as cli:
        cli.turn("a")
        session = next(line["session_id"] for line in cli.turn("b") if "session_id" in line)
        cli.finish()
    with FakeCli(tmp_path, "--resume", session) as cli:
        assert said(cli.turn("c"))


def test_memory_is_really_held(tmp_path: Path) -> None:
    import psutil

    path = tmp_path / "s.json"
    path.write_text(json.dumps({"turn": [{"steps": [{"memory": 60}, {"text": "big"}]}]}))
    with FakeCli(tmp_path, "--scenario", str(path)) as cli:
        cli.turn("a")
        assert psutil.Process(cli.process.pid).memory_info().rss > 60 << 20
