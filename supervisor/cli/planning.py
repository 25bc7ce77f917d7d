"""`supervisor plan`: the map of the office, to look at, to begin with, or to check."""

from __future__ import annotations

from pathlib import Path

import click

from supervisor.config import Office
from supervisor.core.office.plan import Plan
from supervisor.runtime.configured import read_plan


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
def plan(file: Path | None) -> None:
    """Print the usual floor plan, or check the one in FILE.

    \b
    Examples:
      supervisor plan > my.plan
      supervisor plan my.plan
    """
    text = read_plan(Office(floor_plan=str(file) if file else ""))
    if file is None:
        click.echo(text, nl=False)
        return
    found = Plan(text)
    click.echo(
        f"{file} is fine: {found.width}×{found.height} tiles, {len(found.seats)} desks, "
        f"{len(found.table)} places around the table, room for {len(found.homes)}."
    )
