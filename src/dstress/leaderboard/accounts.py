"""People and teams: signing up and in, roles, invitations, tokens, passwords, leaving. Nothing here knows the web."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from dstress.errors import DstressError
from dstress.leaderboard.audit import record
from dstress.leaderboard.security import digest, new_secret
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import Base
from dstress.leaderboard.tables.accounts import (
    Invitation,
    Membership,
    PasswordReset,
    Role,
    Team,
    Token,
    User,
    UserRole,
    WebSession,
)
from dstress.leaderboard.tables.base import now

SHORTEST_PASSWORD = 10
TOKEN_PREFIX = "dst_"
"""By it a token is known where it was left by mistake."""
_RESET_FOR = timedelta(hours=1)
_INVITED_FOR = timedelta(days=14)
_NEVER_EXPORTED = {"password_hash", "digest", "fingerprint"}
Link = TypeVar("Link", Invitation, PasswordReset)
_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


class AccountError(DstressError):
    """Something about an account that the person can put right."""


class NotYours(AccountError):
    """Something that is not there, or is another's: whoever asks is told the same."""

    status = 404


def hash_password(password: str, email: str = "") -> str:
    """Argon2id of a password that is long enough and not the address itself."""
    if len(password) < SHORTEST_PASSWORD:
        raise AccountError(f"a password has at least {SHORTEST_PASSWORD} characters")
    if email and password.lower() in (email, email.partition("@")[0]):
        raise AccountError("a password is not one's e-mail address")
    if len(set(password)) < 4:
        raise AccountError("a password has more than three different characters")
    return _hasher.hash(password.encode("utf-8", "surrogatepass"))


@cache
def _nobody() -> str:
    return _hasher.hash(new_secret())


def check_password(user: User | None, password: str) -> bool:
    """Whether it is the person's password. As long for nobody as for somebody, so that the time tells nothing."""
    kept = user.password_hash if user else None
    try:
        fits = _hasher.verify(kept or _nobody(), password.encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False
    return fits and kept is not None


def find_user(db: Session, email: str) -> User | None:
    """The person with an address."""
    return db.scalar(select(User).where(User.email == email.strip().lower()))


def sign_up(db: Session, settings: Settings, email: str, name: str, password: str, invitation: str = "") -> User:
    """A new account; with an invitation its role and team."""
    if settings.sign_up == "invitation" and not invitation:
        raise AccountError("sign-up is by invitation", fix="ask the organisers for a link")
    if invitation:
        find_invitation(db, invitation)
    if not name:
        raise AccountError("a name is needed")
    if find_user(db, email):
        raise AccountError("there is an account with this address", fix="sign in, or ask for a new password")
    user = add_user(db, email, name)
    user.password_hash = hash_password(password, email)
    record(db, user, "account.sign_up")
    if invitation:
        accept_invitation(db, user, invitation)
    return user


def add_user(db: Session, email: str, name: str, *roles: Role) -> User:
    """A new person without a password: one is set by a link."""
    user = User(email=email.lower(), name=name)
    user.granted = [UserRole(role=role) for role in roles if role != Role.MEMBER]
    db.add(user)
    db.flush()
    return user


def set_roles(db: Session, user: User, roles: set[Role], by: User | None) -> None:
    """Give a person exactly these roles."""
    if by and by.id == user.id and by.has(Role.ADMIN) and Role.ADMIN not in roles:
        raise AccountError("an admin cannot lay down the role: nobody might be left", fix="another admin can")
    user.granted = [row for row in user.granted if row.role in roles]
    user.granted += [UserRole(role=role) for role in sorted(roles - user.roles)]
    record(db, by, "account.roles", str(user.id), roles=sorted(roles))


def change_profile(db: Session, user: User, name: str, email: str) -> None:
    """Another name or address."""
    if not name:
        raise AccountError("a name is needed")
    if email != user.email and find_user(db, email):
        raise AccountError("there is an account with this address")
    user.name, user.email = name, email
    record(db, user, "account.change")


def disable(db: Session, user: User, by: User | None, *, is_disabled: bool = True) -> None:
    """Shut a person out, or let them in again. Sessions end at once, tokens no longer work."""
    user.disabled_at = now() if is_disabled else None
    end_sessions(db, user)
    record(db, by, "account.disable" if is_disabled else "account.enable", str(user.id))


def log_in(db: Session, email: str, password: str, *, address: str = "") -> User | None:
    """The person, if address and password fit; None otherwise, whatever the reason."""
    user = find_user(db, email)
    if not check_password(user, password) or user is None or user.disabled_at or user.deleted_at:
        return None
    if user.password_hash and _hasher.check_needs_rehash(user.password_hash):
        user.password_hash = _hasher.hash(password.encode("utf-8", "surrogatepass"))
    record(db, user, "session.begin", address=address)
    return user


def begin_session(db: Session, user: User, days: int, *, agent: str = "", address: str = "") -> str:
    """A new session; returns the cookie's secret."""
    secret = new_secret()
    begun = WebSession(digest=digest(secret), user_id=user.id, expires_at=now() + timedelta(days=days))
    begun.agent, begun.address = agent[:200], address[:64]
    db.add(begun)
    db.execute(delete(WebSession).where(WebSession.user_id == user.id, WebSession.expires_at < now()))
    return secret


def end_session(db: Session, secret: str) -> None:
    """End the session of one browser."""
    db.execute(delete(WebSession).where(WebSession.digest == digest(secret)))


def end_sessions(db: Session, user: User, keep: str = "") -> None:
    """End all sessions of a person, but the one with a secret."""
    db.execute(delete(WebSession).where(WebSession.user_id == user.id, WebSession.digest != digest(keep)))


def make_token(db: Session, user: User, name: str, days: int | None = 365) -> str:
    """A new token; what is returned is shown once and never again."""
    secret = TOKEN_PREFIX + new_secret()
    expires = now() + timedelta(days=days) if days else None
    db.add(Token(user_id=user.id, name=name, digest=digest(secret), hint=secret[-4:], expires_at=expires))
    record(db, user, "token.make", name)
    return secret


def revoke_token(db: Session, user: User, token_id: int) -> None:
    """End a token of the person's."""
    token = db.scalar(select(Token).where(Token.id == token_id, Token.user_id == user.id))
    if token is None:
        raise NotYours("there is no such token of yours")
    token.revoked_at = token.revoked_at or now()
    record(db, user, "token.revoke", token.name)


def invite(db: Session, by: User | None, *, role: Role | None = None, team: Team | None = None, note: str = "") -> str:
    """An invitation; returns the link's secret."""
    secret = new_secret()
    made = Invitation(digest=digest(secret), role=role, team_id=team.id if team else None, note=note)
    made.invited_by, made.expires_at = by.id if by else None, now() + _INVITED_FOR
    db.add(made)
    record(db, by, "invitation.make", team.name if team else role or Role.MEMBER)
    return secret


def invitation_link(settings: Settings, secret: str) -> str:
    """The address under which an invitation is accepted."""
    return f"{settings.url}/join?invitation={secret}"


def find_invitation(db: Session, secret: str) -> Invitation:
    """The invitation of a link; an error if it is used or too old."""
    return _find_unused(db, Invitation, secret, "invitation")


def _find_unused(db: Session, kind: type[Link], secret: str, called: str) -> Link:
    found = db.scalar(select(kind).where(kind.digest == digest(secret)).with_for_update())
    if not found or found.used_at or found.expires_at < now():
        raise AccountError(f"this {called} is used or too old", fix="ask for another one")
    return found


def accept_invitation(db: Session, user: User, secret: str) -> None:
    """Take on what an invitation gives; it is good once."""
    found = find_invitation(db, secret)
    found.used_at, found.used_by = now(), user.id
    if found.role and Role(found.role) not in user.roles:
        user.granted.append(UserRole(role=found.role))
    if found.team_id and not db.get(Membership, (user.id, found.team_id)):
        db.add(Membership(user_id=user.id, team_id=found.team_id))
    record(db, user, "invitation.accept", str(found.id))


def make_reset(db: Session, user: User, by: User | None = None) -> str:
    """A link's secret with which the person sets a new password; earlier ones end."""
    db.execute(delete(PasswordReset).where(PasswordReset.user_id == user.id))
    secret = new_secret()
    db.add(PasswordReset(digest=digest(secret), user_id=user.id, expires_at=now() + _RESET_FOR))
    record(db, by, "password.link", str(user.id))
    return secret


def reset_link(settings: Settings, secret: str) -> str:
    """The address under which a new password is set."""
    return f"{settings.url}/password/new?link={secret}"


def find_reset(db: Session, secret: str) -> PasswordReset:
    """The row behind a link to a new password; an error if it is used or too old."""
    return _find_unused(db, PasswordReset, secret, "link")


def reset_password(db: Session, secret: str, password: str) -> User:
    """Set a new password by a link."""
    found = find_reset(db, secret)
    user = db.get_one(User, found.user_id)
    set_password(db, user, password)
    found.used_at = now()
    return user


def set_password(db: Session, user: User, password: str, keep: str = "") -> None:
    """A new password; every session but the one that is kept ends, since somebody may have had the old one."""
    user.password_hash = hash_password(password, user.email or "")
    end_sessions(db, user, keep)
    record(db, user, "password.set")


def make_team(db: Session, owner: User, name: str) -> Team:
    """A new team with its first owner."""
    if not name:
        raise AccountError("a team needs a name")
    if db.scalar(select(Team).where(func.lower(Team.name) == name.lower())):
        raise AccountError("there is a team of this name")
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or "team"
    if db.scalar(select(Team).where(Team.slug == slug)):
        slug = f"{slug}-{digest(name)[:8]}"
    team = Team(name=name, slug=slug)
    db.add(team)
    db.flush()
    db.add(Membership(user_id=owner.id, team_id=team.id, is_owner=True))
    db.flush()
    record(db, owner, "team.make", name)
    return team


def teams_of(db: Session, user: User) -> list[Team]:
    """The teams that a person is in, by name."""
    return list(db.scalars(select(Team).join(Membership).where(Membership.user_id == user.id).order_by(Team.name)))


def find_membership(db: Session, user: User, team_id: int) -> Membership:
    """The person's place in a team; an error that tells nothing about a team of others."""
    found = db.get(Membership, (user.id, team_id))
    if found is None:
        raise NotYours("there is no such team of yours")
    return found


def remove_member(db: Session, by: User, team_id: int, user_id: int) -> None:
    """Leave a team, or take somebody out as an owner. A team keeps an owner while it has members."""
    db.get(Team, team_id, with_for_update=True)  # two owners who leave at once would leave none
    own = find_membership(db, by, team_id)
    leaving = db.get(Membership, (user_id, team_id))
    if leaving is None or (leaving.user_id != by.id and not own.is_owner):
        raise AccountError("only an owner of the team can do this")
    db.delete(leaving)
    db.flush()
    record(db, by, "team.remove", str(team_id), member=user_id)
    _keep_an_owner(db, team_id)


def _keep_an_owner(db: Session, team_id: int) -> None:
    left = select(Membership).where(Membership.team_id == team_id).order_by(Membership.joined_at)
    members = list(db.scalars(left))
    if members and not any(member.is_owner for member in members):
        members[0].is_owner = True


def export_data(db: Session, user: User) -> dict[str, Any]:
    """All that the database has about a person: every row of every table that points to them, without secrets."""
    rows: dict[str, Any] = {"users": [_plain(User.__table__, db.execute(_rows(User.__table__, "id", user)).one())]}
    for table in Base.metadata.sorted_tables:
        pointing = [key.parent.name for key in table.foreign_keys if key.column is User.__table__.c.id]
        found = [_plain(table, row) for name in pointing for row in db.execute(_rows(table, name, user))]
        if found:
            rows[table.name] = found
    return rows


def _rows(table: Any, column: str, user: User) -> Any:
    return select(table).where(table.c[column] == user.id)


def _plain(table: Any, row: Any) -> dict[str, Any]:
    names = [column.name for column in table.columns if column.name not in _NEVER_EXPORTED]
    values = {name: row._mapping[name] for name in names}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def delete_account(db: Session, user: User) -> None:
    """Forget who a person is. Results that were published stay, under "deleted account"; keys and teams go."""
    if Role.ADMIN in user.roles and _admins(db) == 1:
        raise AccountError("the only admin cannot go", fix="make somebody else an admin first")
    for table in (WebSession, Token, PasswordReset):
        db.execute(delete(table).where(table.user_id == user.id))
    for membership in list(db.scalars(select(Membership).where(Membership.user_id == user.id))):
        db.delete(membership)
        db.flush()
        _keep_an_owner(db, membership.team_id)
    user.email, user.name, user.password_hash, user.granted = None, "deleted account", None, []
    user.deleted_at = now()
    record(db, user, "account.delete")


def _admins(db: Session) -> int:
    admins = select(func.count()).select_from(UserRole).where(UserRole.role == Role.ADMIN)
    return db.scalar(admins) or 0
