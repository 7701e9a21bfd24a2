"""People and teams: signing up and in, roles, invitations, tokens, passwords, leaving. Nothing here knows the web."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from dstress.errors import DstressError
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import (
    Base,
    Invitation,
    Membership,
    NotThere,
    PasswordReset,
    Role,
    Team,
    Token,
    User,
    UserRole,
    WebSession,
    now,
    record,
)
from dstress.leaderboard.web.fields import fold_name
from dstress.leaderboard.web.security import digest, new_secret

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
        find_link(db, Invitation, invitation)
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


def change_profile(db: Session, user: User, name: str, email: str, locale: str) -> None:
    """Another name, address or language."""
    if not name:
        raise AccountError("a name is needed")
    if email != user.email and find_user(db, email):
        raise AccountError("there is an account with this address")
    if email != user.email:
        end_resets(db, user)
    user.name, user.email, user.locale = name, email, locale
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
        raise NotThere("there is no such token of yours")
    token.revoked_at = token.revoked_at or now()
    record(db, user, "token.revoke", token.name)


def invite(
    db: Session,
    settings: Settings,
    by: User | None,
    *,
    role: Role | None = None,
    team: Team | None = None,
    note: str = "",
) -> str:
    """An invitation; returns the link under which it is accepted."""
    secret = new_secret()
    made = Invitation(digest=digest(secret), role=role, team_id=team.id if team else None, note=note)
    made.invited_by, made.expires_at = by.id if by else None, now() + _INVITED_FOR
    db.add(made)
    record(db, by, "invitation.make", team.name if team else role or Role.MEMBER)
    return f"{settings.url}/join?invitation={secret}"


def open_invitations(db: Session, team_id: int | None) -> list[Invitation]:
    """Links into a team, or to a role, that can still be used; the newest first."""
    query = select(Invitation).where(Invitation.team_id == team_id, Invitation.used_at.is_(None))
    unused = db.scalars(query.where(Invitation.expires_at > now()).order_by(Invitation.id.desc()))
    return [invitation for invitation in unused if _may_invite(db, invitation.invited_by, team_id)]


def revoke_invitation(db: Session, by: User, invitation_id: int) -> Invitation:
    """End a link before it is used: one to a role as an admin, one into a team as its owner."""
    invitation = db.get(Invitation, invitation_id, with_for_update=True)
    if invitation is None or not _may_invite(db, by.id, invitation.team_id):
        raise NotThere("there is no such invitation of yours")
    if not invitation.used_at:
        invitation.expires_at = now()
    record(db, by, "invitation.revoke", str(invitation_id))
    return invitation


def find_link(db: Session, kind: type[Link], secret: str) -> Link:
    """The invitation, or the way to a new password, behind a link; an error if it is used or too old, or whoever made
    the invitation may make none any more."""
    row = db.scalar(select(kind).where(kind.digest == digest(secret)).with_for_update())
    if not row or row.used_at or row.expires_at < now():
        called = "invitation" if kind is Invitation else "link"
        raise AccountError(f"this {called} is used or too old", fix="ask for another one")
    if isinstance(row, Invitation) and not _may_invite(db, row.invited_by, row.team_id):
        raise AccountError("whoever made this invitation may make none any more", fix="ask for another one")
    return row


def _may_invite(db: Session, user_id: int | None, team_id: int | None) -> bool:
    """Whether a person may invite: into a team as its owner, to a role as an admin. The command line may."""
    if user_id is None:
        return True
    user = db.get_one(User, user_id)
    if user.disabled_at:
        return False
    own = db.get(Membership, (user_id, team_id)) if team_id else None
    return own.is_owner if own else not team_id and user.has(Role.ADMIN)


def accept_invitation(db: Session, user: User, secret: str) -> None:
    """Take on what an invitation gives; it is good once."""
    invitation = find_link(db, Invitation, secret)
    invitation.used_at, invitation.used_by = now(), user.id
    if invitation.role and Role(invitation.role) not in user.roles:
        user.granted.append(UserRole(role=invitation.role))
    if invitation.team_id and not db.get(Membership, (user.id, invitation.team_id)):
        db.add(Membership(user_id=user.id, team_id=invitation.team_id))
    record(db, user, "invitation.accept", str(invitation.id))


def end_resets(db: Session, user: User) -> None:
    """End the links with which a person sets a new password: with the password, and with the address they went to."""
    db.execute(delete(PasswordReset).where(PasswordReset.user_id == user.id))


def make_reset(db: Session, settings: Settings, user: User, by: User | None = None) -> str:
    """A link under which the person sets a new password; earlier ones end."""
    end_resets(db, user)
    secret = new_secret()
    db.add(PasswordReset(digest=digest(secret), user_id=user.id, expires_at=now() + _RESET_FOR))
    record(db, by, "password.link", str(user.id))
    return f"{settings.url}/password/new?link={secret}"


def reset_password(db: Session, secret: str, password: str) -> User:
    """Set a new password by a link."""
    user = db.get_one(User, find_link(db, PasswordReset, secret).user_id)
    set_password(db, user, password)
    return user


def set_password(db: Session, user: User, password: str, keep: str = "") -> None:
    """A new password; all tokens, links and every session but the one that is kept end: somebody may have had the
    old one."""
    user.password_hash = hash_password(password, user.email or "")
    end_sessions(db, user, keep)
    end_resets(db, user)
    db.execute(update(Token).where(Token.user_id == user.id, Token.revoked_at.is_(None)).values(revoked_at=now()))
    record(db, user, "password.set")


def make_team(db: Session, owner: User, name: str) -> Team:
    """A new team with its first owner."""
    if not name:
        raise AccountError("a team needs a name")
    if fold_name(name) in map(fold_name, db.scalars(select(Team.name))):  # SQLite knows capitals of ASCII only
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
    membership = db.get(Membership, (user.id, team_id))
    if membership is None:
        raise NotThere("there is no such team of yours")
    return membership


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
    users = User.__table__
    exported: dict[str, Any] = {}
    for table in Base.metadata.sorted_tables:
        pointing = [key.parent for key in table.foreign_keys if key.column is users.c.id]
        kept = [column for column in table.columns if column.name not in _NEVER_EXPORTED]
        for column in [users.c.id] if table is users else pointing:
            for row in db.execute(select(*kept).where(column == user.id)):
                values = row._mapping.items()
                plain = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values}
                exported.setdefault(table.name, []).append(plain)
    return exported


def delete_account(db: Session, user: User) -> None:
    """Forget who a person is. Results that were published stay, under "deleted account"; keys and teams go."""
    admins = select(func.count()).select_from(UserRole).where(UserRole.role == Role.ADMIN)
    if Role.ADMIN in user.roles and db.scalar(admins) == 1:
        raise AccountError("the only admin cannot go", fix="make somebody else an admin first")
    for table in (WebSession, Token, PasswordReset):
        db.execute(delete(table).where(table.user_id == user.id))
    for membership in list(db.scalars(select(Membership).where(Membership.user_id == user.id))):
        db.delete(membership)
        db.flush()
        _keep_an_owner(db, membership.team_id)
    user.email, user.name, user.password_hash, user.granted = None, "deleted account", None, []
    user.locale = ""
    user.deleted_at = now()
    record(db, user, "account.delete")
