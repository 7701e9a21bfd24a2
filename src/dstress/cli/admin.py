"""`dstress serve admin`: people of a server, from the machine that it runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dstress.cli.options import argument, option, verb
from dstress.cli.output import OutputFiles, json_option
from dstress.errors import DstressError
from dstress.reports.tables import Table

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from dstress.leaderboard.tables import User

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
    from dstress.leaderboard.accounts.service import find_user

    user = find_user(db, email)
    if user is None:
        raise DstressError(f"nobody has the address {email!r}", fix="dstress serve admin list")
    return user


def _show_link(link: str, files: OutputFiles, words: str) -> None:
    if not files.write({"link": link}):
        click.echo(words, err=True)
        click.echo(link)


@verb("add", group)
@click.pass_obj
def add(
    settings: Any,
    email: str = argument(),
    name: str = option(default="", help="default: the address up to the @"),
    roles: tuple[str, ...] = option("--role", type=_ROLES, multiple=True, help="may be given several times"),
    files: OutputFiles = json_option,
) -> None:
    """Add a person, and print the link with which they set a password."""
    from dstress.leaderboard.accounts import service as accounts
    from dstress.leaderboard.tables import Role, record
    from dstress.leaderboard.web.fields import clean_email, clean_line

    try:
        email, name = clean_email(email), clean_line(name) or email.partition("@")[0]
    except ValueError as error:
        raise DstressError(str(error), where=email) from None
    with _session(settings) as db:
        if accounts.find_user(db, email):
            raise DstressError(f"{email} has an account", fix=f"dstress serve admin link {email}")
        user = accounts.add_user(db, email, name, *map(Role, roles))
        record(db, None, "account.add", str(user.id), roles=sorted(roles))
        link = accounts.make_reset(db, settings, user)
    _show_link(link, files, f"{name} sets a password within an hour at")


@verb("list", group)
@click.pass_obj
def list_command(settings: Any, files: OutputFiles = json_option) -> None:
    """List everybody."""
    from sqlalchemy import select

    from dstress.leaderboard.tables import User

    with _session(settings) as db:
        people = list(db.scalars(select(User).where(User.deleted_at.is_(None)).order_by(User.id)))
    described = [
        {"name": user.name, "email": user.email, "roles": sorted(user.roles), "disabled": bool(user.disabled_at)}
        for user in people
    ]
    rows = [
        (user.name, user.email or "", ", ".join(sorted(user.roles)), "shut out" if user.disabled_at else "")
        for user in people
    ]
    files.show(described, [Table(("name", "address", "roles", ""), rows)])


@verb("roles", group)
@click.pass_obj
def set_roles(settings: Any, email: str = argument(), roles: tuple[str, ...] = argument(type=_ROLES, nargs=-1)) -> None:
    """Give a person exactly these roles; none leaves a plain member."""
    from dstress.leaderboard.accounts import service as accounts
    from dstress.leaderboard.tables import Role

    with _session(settings) as db:
        accounts.set_roles(db, _person(db, email), set(map(Role, roles)), None)


@verb("link", group)
@click.pass_obj
def make_link(settings: Any, email: str = argument(), files: OutputFiles = json_option) -> None:
    """Print a link with which a person sets a new password; good for an hour, and once."""
    from dstress.leaderboard.accounts import service as accounts

    with _session(settings) as db:
        link = accounts.make_reset(db, settings, _person(db, email))
    _show_link(link, files, "good for an hour, and once:")


@verb("invite", group)
@click.pass_obj
def invite(
    settings: Any,
    role: str = option(type=_ROLES, default="member", help="what the person becomes"),
    files: OutputFiles = json_option,
) -> None:
    """Print a link with which one person signs up."""
    from dstress.leaderboard.accounts import service as accounts
    from dstress.leaderboard.tables import Role

    with _session(settings) as db:
        link = accounts.invite(db, settings, None, role=Role(role))
    _show_link(link, files, "good for 14 days, and once:")


@verb("disable", group)
@click.pass_obj
def disable(settings: Any, email: str = argument()) -> None:
    """Shut a person out: sessions end at once, tokens no longer work."""
    _set_disabled(settings, email, True)


@verb("enable", group)
@click.pass_obj
def enable(settings: Any, email: str = argument()) -> None:
    """Let a person in again."""
    _set_disabled(settings, email, False)


def _set_disabled(settings: Any, email: str, is_disabled: bool) -> None:
    from dstress.leaderboard.accounts import service as accounts

    with _session(settings) as db:
        accounts.disable(db, _person(db, email), None, is_disabled=is_disabled)


@verb("delete", group)
@click.confirmation_option(prompt="The account cannot be brought back. Delete it?")
@click.pass_obj
def delete(settings: Any, email: str = argument()) -> None:
    """Delete an account, as the person could: what was published stays, without the name."""
    from dstress.leaderboard.accounts import service as accounts

    with _session(settings) as db:
        accounts.delete_account(db, _person(db, email))
