"""The real programs: installed once into a cache folder, and sent to a stub instead of their vendors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "office-supervisor"
"""Decided when the tests are collected: later HOME is a scratch folder."""
MODULES = "node_modules"
KEY = "dummy-key"
MODEL = "stub-model"


@dataclass(frozen=True)
class Cli:
    """One CLI as it is tested."""

    name: str
    package: str
    version: str
    program: str
    """Where the program is below the installed modules; a pattern."""
    environment: Callable[[str], dict[str, str]]
    """What sends it to a stub."""
    home: Callable[[str], dict[str, str]] = field(default=lambda url: {})
    """Files in its HOME that do."""
    model: str = ""
    node: bool = False
    quiet_seconds: float = 1.0
    finishes: bool = False
    """Whether it goes on with its turn when nobody is there any more."""

    @property
    def place(self) -> Path:
        return CACHE / f"{self.name}-{self.version}"

    def command(self) -> tuple[str, ...]:
        """The program, once it is installed."""
        found = sorted((self.place / MODULES).glob(self.program))
        if not found:
            return ()
        return ("node", str(found[0])) if self.node else (str(found[0]),)

    def install(self) -> str:
        """Returns why it cannot be had; nothing if it is there."""
        if self.command():
            return ""
        if shutil.which("npm") is None:
            return "npm is missing"
        self.place.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["npm", "install", "--no-fund", "--no-audit", "--prefix", self.place, f"{self.package}@{self.version}"],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        return "" if self.command() else " ".join(lines[:1]) or f"npm ended with status {done.returncode}"

    def settle_in(self, home: Path, url: str) -> None:
        for name, text in self.home(url).items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _opencode_home(url: str) -> dict[str, str]:
    model = {
        "name": "Stub",
        "limit": {"context": 128_000, "output": 4_000},
        "cost": {"input": 1, "output": 2},
        "temperature": True,
    }
    options = {"baseURL": f"{url}/v1", "apiKey": KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Stub", "options": options, "models": {MODEL: model}}
    return {
        ".config/opencode/opencode.json": json.dumps({"provider": {"stub": provider}, "small_model": f"stub/{MODEL}"})
    }


CODEX_CONFIG = """\
model_provider = "stub"
model = "stub-model"

[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
"""


def _codex_home(url: str) -> dict[str, str]:
    return {".codex/config.toml": CODEX_CONFIG.format(url=url)}


CLAUDE = Cli(
    "claude", "@anthropic-ai/claude-code", "2.1.326", "@anthropic-ai/claude-code/bin/claude*",
    lambda url: {
        "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, "DISABLE_TELEMETRY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }, finishes=True,
)  # fmt: skip
CODEX = Cli(
    "codex", "@openai/codex", "0.169.0", "@openai/codex-*/vendor/*/bin/codex",
    lambda url: {"OPENAI_API_KEY": KEY}, _codex_home,
)  # fmt: skip
GEMINI = Cli(
    "gemini", "@google/gemini-cli", "0.61.0", "@google/gemini-cli/bundle/gemini.js",
    lambda url: {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}, model="gemini-2.5-flash", node=True,
)  # fmt: skip
OPENCODE = Cli(
    "opencode", "opencode-ai", "1.18.33", "opencode-ai/bin/opencode*",
    lambda url: {}, _opencode_home, model=f"stub/{MODEL}", quiet_seconds=4.0,
)  # fmt: skip
CLIS: Mapping[str, Cli] = {cli.name: cli for cli in (CLAUDE, CODEX, GEMINI, OPENCODE)}
