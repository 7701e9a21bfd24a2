"""`dstress completion SHELL`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dstress.cli.main import cli

_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/dstress.fish"}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_FILES)))
def command(shell: str) -> None:
    """Print a script that completes verbs, options and names in SHELL.

    \b
    Examples
      dstress completion bash >> ~/.bashrc
      dstress completion fish > ~/.config/fish/completions/dstress.fish
    """
    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(completion(cli, {}, "dstress", "_DSTRESS_COMPLETE").source())
