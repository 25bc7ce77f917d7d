"""The `supervisor` command."""

from __future__ import annotations

import os
import sys

import click
from click.shell_completion import get_completion_class

from supervisor import __version__
from supervisor.errors import ConfigError, SupervisorError

from .control import agents, rotate_tokens, status, stop
from .doctor import doctor
from .options import printable
from .planning import plan
from .said import backup, export, history, rooms
from .start import start
from .talk import talk
from .tasks import task


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="supervisor")
def cli() -> None:
    """Let command-line agents talk to each other, under supervision.

    \b
    Examples:
      supervisor start --auto
      supervisor talk "Is maths discovered or invented?"
    """


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Example:
      eval "$(supervisor completion bash)"
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "supervisor", "_SUPERVISOR_COMPLETE").source())


for command in (
    start, talk, rooms, history, export, backup, agents, task, status, stop, rotate_tokens, doctor, plan,
    completion,
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    """The console script: every error that is meant for a person is one line, and never a traceback."""
    try:
        cli.main(prog_name="supervisor", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"supervisor: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except ConfigError as error:
        click.echo(printable(f"supervisor: {error}"), err=True)
        sys.exit(2)
    except SupervisorError as error:
        click.echo(printable(f"supervisor: {error}"), err=True)
        sys.exit(1)
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
