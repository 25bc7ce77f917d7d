"""The flags: those of the real program that matter for driving it, and a few of our own at the end."""

from __future__ import annotations

import argparse
import os
import sys

from . import VERSION

EXAMPLES = """\
examples:
  fake-cli -p "Is maths discovered or invented?"
  fake-cli -p --input-format stream-json --output-format stream-json --verbose --session-id UUID
  FAKE_CLI_SCENARIO=crash.toml fake-cli -p ...      a scripted behaviour, good or bad (see docs/fake-cli.md)
"""


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the command line; unknown flags of the real program are accepted and ignored, with or without a value."""
    parser = argparse.ArgumentParser(
        prog="fake-cli",
        description="A stand-in for the claude command-line agent that needs no network and no account.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("prompt", nargs="?", default=None, help="the prompt, where it is not read from stdin")
    add("-v", "--version", action="version", version=f"{VERSION} (fake-cli)")
    add(
        "-p",
        "--print",
        action="store_true",
        help="answer and exit, or serve stdin with --input-format stream-json",
    )
    add("--input-format", choices=["text", "stream-json"], default="text")
    add("--output-format", choices=["text", "json", "stream-json"], default="text")
    add("--verbose", action="store_true", help="required by stream-json output, as in the real one")
    add("--include-partial-messages", action="store_true", help="print text as it is generated")
    add("--replay-user-messages", action="store_true", help="print the prompts as they are taken up")
    add("--session-id", metavar="UUID", help="the id of a new session")
    add("-r", "--resume", metavar="UUID", help="go on with an earlier session")
    add("--system-prompt", metavar="TEXT", default="")
    add("--append-system-prompt", metavar="TEXT", default="")
    add("--model", default="fake-persona-1")
    add("--tools", default="default", metavar="NAMES", help='comma separated; "" for none')
    add("--permission-mode", default="default", metavar="MODE")
    add("--permission-prompt-tool", default="", metavar="NAME", help='"stdio": who may use a tool is asked on stdout')
    ours = parser.add_argument_group("not in the real program")
    ours.add_argument("--scenario", default=os.environ.get("FAKE_CLI_SCENARIO"), metavar="FILE",
                      help="a TOML or JSON file that says what happens, step by step")  # fmt: skip
    ours.add_argument("--seed", default=os.environ.get("FAKE_CLI_SEED", "0"), help="the same seed says the same")
    ours.add_argument("--speed", type=float, default=os.environ.get("FAKE_CLI_SPEED", "0"), metavar="N",
                      help="characters a second; 0 means at once")  # fmt: skip
    ours.add_argument("--think", type=float, default=os.environ.get("FAKE_CLI_THINK", "0"), metavar="SECONDS",
                      help="how long to think before each answer")  # fmt: skip
    options, unknown = parser.parse_known_args(argv)
    if options.prompt is None and unknown and not unknown[-1].startswith("-"):
        unknown.pop()
    if options.input_format == "stream-json" and options.output_format != "stream-json":
        sys.exit("fake-cli: --input-format stream-json needs --output-format stream-json.")
    if options.output_format == "stream-json" and not options.verbose:
        sys.exit("fake-cli: --output-format stream-json needs --verbose.")
    return options
