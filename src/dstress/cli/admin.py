"""`dstress serve admin`: people of a server, from the machine that it runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from dstress.cli.output import console, json_option, make_table, write_json
from dstress.errors import DstressError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from dstress.leaderboard.tables.accounts import User

_ROLES = click.Choice(["admin", "organiser", "judge", "worker", "member"])


@click.group("admin")
def group() -> None:
    """People of a server: add, list, roles, link, disable, enable, delete, invite.

    \b
    Examples
      dstress serve admin add ada@example.org --role admin
      dstress serve admin link ada@example.org           (a link to set a new password)
      dstress serve admin roles ben@example.org organiser judge
      dstress serve admin invite --role judge
    """


@contextmanager
def _session(settings: Any) -> Iterator[Session]:
    from dstress.leaderboard.database import Database

    database = Database(settings.database_url)
    database.migrate()
    try:
        with database.session() as db:
            yield db
    finally:
        database.close()


def _person(db: Session, email: str) -> User:
    from dstress.leaderboard.accounts import find_user

    found = find_user(db, email)
    if found is None:
        raise DstressError(f"nobody has the address {email!r}", fix="dstress serve admin list")
    return found


def _show_link(link: str, json_file: str | None, words: str) -> None:
    if json_file:
        write_json({"link": link}, json_file)
    else:
        click.echo(words, err=True)
        click.echo(link)


@group.command("add")
@click.argument("email")
@click.option("--name", default="", help="default: the address up to the @")
@click.option("--role", "roles", type=_ROLES, multiple=True, help="may be given several times")
@json_option
@click.pass_obj
def add(settings: Any, email: str, name: str, roles: tuple[str, ...], json_file: str | None) -> None:
    """Add a person, and print the link with which they set a password."""
    from dstress.leaderboard import accounts
    from dstress.leaderboard.audit import record
    from dstress.leaderboard.fields import clean_email, clean_line
    from dstress.leaderboard.tables.accounts import Role

    try:
        email, name = clean_email(email), clean_line(name) or email.partition("@")[0]
    except ValueError as error:
        raise DstressError(str(error), where=email) from None
    with _session(settings) as db:
        if accounts.find_user(db, email):
            raise DstressError(f"{email} has an account", fix=f"dstress serve admin link {email}")
        user = accounts.add_user(db, email, name, *map(Role, roles))
        record(db, None, "account.add", str(user.id), roles=sorted(roles))
        link = accounts.reset_link(settings, accounts.make_reset(db, user))
    _show_link(link, json_file, f"{name} sets a password within an hour at")


@group.command("list")
@json_option
@click.pass_obj
def list_command(settings: Any, json_file: str | None) -> None:
    """List everybody."""
    from sqlalchemy import select

    from dstress.leaderboard.tables.accounts import User

    with _session(settings) as db:
        people = list(db.scalars(select(User).where(User.deleted_at.is_(None)).order_by(User.id)))
    rows = [
        {"name": one.name, "email": one.email, "roles": sorted(one.roles), "disabled": one.disabled_at is not None}
        for one in people
    ]
    if json_file:
        write_json(rows, json_file)
        return
    table = make_table("name", "address", "roles", "")
    for one in people:
        shut_out = "shut out" if one.disabled_at else ""
        table.add_row(escape(one.name), escape(one.email or ""), ", ".join(sorted(one.roles)), shut_out)
    console().print(table)


@group.command("roles")
@click.argument("email")
@click.argument("roles", type=_ROLES, nargs=-1)
@click.pass_obj
def set_roles(settings: Any, email: str, roles: tuple[str, ...]) -> None:
    """Give a person exactly these roles; none leaves a plain member."""
    from dstress.leaderboard import accounts
    from dstress.leaderboard.tables.accounts import Role

    with _session(settings) as db:
        accounts.set_roles(db, _person(db, email), set(map(Role, roles)), None)


@group.command("link")
@click.argument("email")
@json_option
@click.pass_obj
def make_link(settings: Any, email: str, json_file: str | None) -> None:
    """Print a link with which a person sets a new password; good for an hour, and once."""
    from dstress.leaderboard import accounts

    with _session(settings) as db:
        link = accounts.reset_link(settings, accounts.make_reset(db, _person(db, email)))
    _show_link(link, json_file, "good for an hour, and once:")


@group.command("invite")
@click.option("--role", type=_ROLES, default="member", show_default=True, help="what the person becomes")
@json_option
@click.pass_obj
def invite(settings: Any, role: str, json_file: str | None) -> None:
    """Print a link with which one person signs up."""
    from dstress.leaderboard import accounts
    from dstress.leaderboard.tables.accounts import Role

    with _session(settings) as db:
        link = accounts.invitation_link(settings, accounts.invite(db, None, role=Role(role)))
    _show_link(link, json_file, "good for 14 days, and once:")


@group.command("disable")
@click.argument("email")
@click.pass_obj
def disable(settings: Any, email: str) -> None:
    """Shut a person out: sessions end at once, tokens no longer work."""
    _set_disabled(settings, email, True)


@group.command("enable")
@click.argument("email")
@click.pass_obj
def enable(settings: Any, email: str) -> None:
    """Let a person in again."""
    _set_disabled(settings, email, False)


def _set_disabled(settings: Any, email: str, is_disabled: bool) -> None:
    from dstress.leaderboard import accounts

    with _session(settings) as db:
        accounts.disable(db, _person(db, email), None, is_disabled=is_disabled)


@group.command("delete")
@click.argument("email")
@click.confirmation_option(prompt="The account cannot be brought back. Delete it?")
@click.pass_obj
def delete(settings: Any, email: str) -> None:
    """Delete an account, as the person could: what was published stays, without the name."""
    from dstress.leaderboard import accounts

    with _session(settings) as db:
        accounts.delete_account(db, _person(db, email))
