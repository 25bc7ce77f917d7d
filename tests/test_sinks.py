"""Nothing that a stranger's words could be run by: not in the page, not in Python."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest
from support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = sorted((ROOT / "office_view").rglob("*.js"))
CODE = sorted([*(ROOT / "supervisor").rglob("*.py"), *(ROOT / "agents").rglob("*.py")])
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|createContextualFragment|DOMParser|document\.write|srcdoc|"
    r"\beval\(|new Function|set(?:Timeout|Interval)\([\"'`]|javascript:|createPolicy|"
    r"new (?:Shared)?Worker|importScripts|createElement\([\"'`](?:script|iframe|object|embed|link|style)|"
    r"setAttribute\([\"'`](?:on|style|src|href)|https?://"
)
"""What makes markup or a program out of text, or loads something from elsewhere."""
MODULES = {"pickle", "marshal", "shelve", "yaml", "xml", "dill", "jsonpickle", "ftplib", "telnetlib"}
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "tempfile.mktemp"}


def dangers(source: str) -> list[str]:
    """What a module does that no module needs to."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [name for name in names if name.split(".")[0] in MODULES]
        elif isinstance(node, ast.Call):
            found += [name for name in [ast.unparse(node.func)] if name in CALLS]
            found += [k.arg for k in node.keywords if k.arg == "shell" and ast.unparse(k.value) != "False"]
    return found


@pytest.mark.parametrize("path", PAGE, ids=lambda path: path.name)
def test_what_was_said_is_never_markup(path: Path) -> None:
    """Words become text and nothing else; nothing is loaded from elsewhere."""
    code = re.sub(r"^\s*(?://|/?\*).*", "", path.read_text(), flags=re.MULTILINE)
    assert not SINKS.search(code)


def test_the_frame_of_the_page_holds_no_program_and_no_style() -> None:
    """So that the policy needs no exception."""
    source = (ROOT / "office_view" / "index.html").read_text()
    assert not re.search(r"\s(?:on\w+|style)\s*=|<style|<iframe|<object|<base|https?://|javascript:", source, re.I)
    assert re.findall(r"<script[^>]*>(.*?)</script>", source, re.DOTALL) == [""]


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_runs_or_unpacks_what_it_is_given(path: Path) -> None:
    assert dangers(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from yaml import load", "import xml.etree.ElementTree", "eval(x)", "os.system(x)",
     "subprocess.run(x, shell=True)", "run(x, shell=flag)"],
)  # fmt: skip
def test_dangers_are_seen(source: str) -> None:
    assert dangers(source)


@pytest.mark.parametrize(
    "source", ["x.innerHTML = y", "setTimeout('f()', 1)", "el.setAttribute('onclick', y)", "eval(y)"]
)
def test_sinks_are_seen(source: str) -> None:
    assert SINKS.search(source)
