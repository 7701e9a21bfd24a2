"""Pages of people: signing up and in, passwords, one's own account, tokens, teams; and for admins, everybody."""

from __future__ import annotations

import json
import logging
import smtplib
import ssl
from email.message import EmailMessage
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from fastapi import APIRouter, Form, Query, Request
from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, joinedload
from starlette.background import BackgroundTask
from starlette.responses import Response

from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import (
    AuditEntry,
    Invitation,
    Membership,
    NotThere,
    PasswordReset,
    Role,
    Team,
    Token,
    User,
    WebSession,
    now,
)
from dstress.leaderboard.web import limits
from dstress.leaderboard.web.access import Admin, Db, Id, SignedIn, Visitor, client_address, get_settings
from dstress.leaderboard.web.fields import FormEmail, FormLine, FormLocale, FormSecret
from dstress.leaderboard.web.limits import Limit
from dstress.leaderboard.web.rendering import own_address, redirect, render
from dstress.leaderboard.web.security import cookie_name, digest, set_cookie

router = APIRouter()
_log = logging.getLogger(__name__)

_TRIES_OF_ACCOUNT, _TRIES_OF_ALL = Limit(10, 900), Limit(100, 900)
"""Log-ins from one network to one account, and to all. A limit of the account alone would let anybody lock it."""
_CHECKS = Limit(10, 900)
"""How often one's own password may be asked for: a stolen session must not guess it."""
_SIGN_UPS, _MAILS, _LINKS_TRIED = Limit(20, 3600), Limit(5, 3600), Limit(30, 3600)
_NEW_TOKENS, _NEW_TEAMS, _TEAM_LINKS = Limit(30, 3600), Limit(20, 3600), Limit(50, 3600)

_MAIL_SECONDS = 20.0
_MAIL = """Somebody, probably you, asked for a new password at {site}.

This link is good for an hour, and once:

{link}

If it was not you, there is nothing to do.
"""
_ROWS = 100
"""People, or entries of the audit log, on a page."""
_ABOUT_PEOPLE = {"account.add", "account.roles", "account.disable", "account.enable", "password.link"}


# The way in.


@router.get("/login")
def show_login(request: Request, user: Visitor, next: str = "/") -> Response:
    """The form."""
    if user:
        return redirect(own_address(next))
    return render(request, "account/login.html.j2", None, next=own_address(next), email="", problem="")


@router.post("/login")
def log_in(
    request: Request, db: Db, email: FormEmail, password: FormSecret, next: Annotated[str, Form()] = "/"
) -> Response:
    """Begin a session, under a new secret: one that somebody planted before is worth nothing."""
    network = limits.address_block(client_address(request))
    limits.count(db, f"login-from:{network}", _TRIES_OF_ALL)
    limits.count(db, f"login:{network}:{email}", _TRIES_OF_ACCOUNT)
    user = accounts.log_in(db, email, password, address=client_address(request))
    if user is None:
        problem = "Address and password do not fit."
        values: dict[str, Any] = {"next": own_address(next), "email": email, "problem": problem}
        return render(request, "account/login.html.j2", None, status=403, **values)
    return _let_in(request, db, user, redirect(own_address(next)))


@router.get("/signup")
def show_sign_up(request: Request, user: Visitor, invitation: str = "") -> Response:
    """The form."""
    if user:
        return redirect("/")
    values: dict[str, Any] = {"invitation": invitation, "email": "", "name": "", "problem": ""}
    return render(request, "account/signup.html.j2", None, **values)


@router.post("/signup")
def sign_up(
    request: Request, db: Db, email: FormEmail, name: FormLine, password: FormSecret, invitation: FormSecret = ""
) -> Response:
    """Make an account and begin a session."""
    limits.count(db, f"signup:{limits.address_block(client_address(request))}", _SIGN_UPS)
    try:
        user = accounts.sign_up(db, get_settings(request), email, name, password, invitation)
    except accounts.AccountError as error:
        db.rollback()
        values = {"invitation": invitation, "email": email, "name": name, "problem": str(error)}
        return render(request, "account/signup.html.j2", None, status=400, **values)
    return _let_in(request, db, user, redirect("/", f"Welcome, {user.name}."))


def _let_in(request: Request, db: Db, user: User, response: Response) -> Response:
    accounts.end_session(db, request.cookies.get(cookie_name(request), ""))
    agent, days = request.headers.get("user-agent", ""), get_settings(request).session_days
    secret = accounts.begin_session(db, user, days, agent=agent, address=client_address(request))
    set_cookie(response, request, secret)
    return response


@router.post("/logout")
def log_out(request: Request, db: Db, user: Visitor) -> Response:
    """End the session of this browser."""
    accounts.end_session(db, request.cookies.get(cookie_name(request), ""))
    response = redirect("/", "You are signed out.")
    response.delete_cookie(cookie_name(request))
    return response


# A new password for one who forgot theirs: by mail, or by a link that an admin makes.


@router.get("/password/forgotten")
def show_forgotten(request: Request, user: Visitor) -> Response:
    """The form."""
    return render(request, "account/forgotten.html.j2", user)


@router.post("/password/forgotten")
def send_link(request: Request, db: Db, email: FormEmail) -> Response:
    """Send a link. The answer is the same whether there is such an account or not."""
    settings = get_settings(request)
    if not settings.smtp:
        raise accounts.AccountError("this server sends no mail", fix="ask an admin for a link to set a new password")
    limits.count(db, f"forgotten:{limits.address_block(client_address(request))}", _LINKS_TRIED)
    limits.count(db, f"forgotten:{email}", _MAILS)
    response = redirect("/login", f"If {email} has an account, a mail with a link is on its way.")
    user = accounts.find_user(db, email)
    if user and not user.disabled_at:
        text = _MAIL.format(site=settings.url, link=accounts.make_reset(db, settings, user))
        response.background = BackgroundTask(_send_mail, settings, email, "A new password for dstress", text)
    return response


def _send_mail(settings: Settings, to: str, subject: str, text: str) -> None:
    """Runs after the answer: a server that fails is in the log, and tells nobody who has an account."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = settings.sender, to, subject
    message.set_content(text)
    parts = urlsplit(settings.smtp)
    try:
        kind = smtplib.SMTP_SSL if parts.scheme == "smtps" else smtplib.SMTP
        with kind(parts.hostname or "localhost", parts.port or 0, timeout=_MAIL_SECONDS) as server:
            if parts.scheme == "smtp" and server.has_extn("starttls"):
                server.starttls(context=ssl.create_default_context())
            if parts.username:
                server.login(unquote(parts.username), unquote(parts.password or ""))
            server.send_message(message)
    except (OSError, smtplib.SMTPException):
        _log.exception("a mail could not be sent")


@router.get("/password/new")
def show_new_password(request: Request, db: Db, link: str = "") -> Response:
    """The form behind a link."""
    accounts.find_link(db, PasswordReset, link)
    return render(request, "account/new_password.html.j2", None, link=link)


@router.post("/password/new")
def set_new_password(request: Request, db: Db, link: FormSecret, password: FormSecret) -> Response:
    """Set it; all sessions and tokens end."""
    limits.count(db, f"new-password:{limits.address_block(client_address(request))}", _LINKS_TRIED)
    accounts.reset_password(db, link, password)
    return redirect("/login", "The new password is set. Sign in with it.")


# One's own account: name and address, password and sessions, one's data, and the way out.


@router.get("/account")
def show_account(request: Request, user: SignedIn) -> Response:
    """Name, address, roles."""
    return render(request, "account/profile.html.j2", user)


@router.post("/account")
def change_account(
    user: SignedIn, db: Db, name: FormLine, email: FormEmail, password: FormSecret = "", locale: FormLocale = ""
) -> Response:
    """A new name or language, or with the password a new address."""
    if email != user.email:
        _check_password(db, user, password)
    accounts.change_profile(db, user, name, email, locale)
    return redirect("/account", "Saved.")


@router.get("/account/security")
def show_security(request: Request, user: SignedIn, db: Db) -> Response:
    """Password and sessions."""
    query = select(WebSession).where(WebSession.user_id == user.id).order_by(WebSession.created_at.desc())
    here = digest(request.cookies.get(cookie_name(request), ""))
    return render(request, "account/security.html.j2", user, sessions=list(db.scalars(query)), here=here)


@router.post("/account/password")
def change_password(request: Request, user: SignedIn, db: Db, password: FormSecret, new: FormSecret) -> Response:
    """A new password; all other sessions and all tokens end."""
    _check_password(db, user, password)
    accounts.set_password(db, user, new, keep=request.cookies.get(cookie_name(request), ""))
    return redirect("/account/security", "The password is changed. All other sessions and all tokens are ended.")


@router.post("/account/sessions/end")
def end_sessions(request: Request, user: SignedIn, db: Db) -> Response:
    """End all sessions but this one."""
    accounts.end_sessions(db, user, keep=request.cookies.get(cookie_name(request), ""))
    return redirect("/account/security", "All other sessions are ended.")


@router.get("/account/data")
def show_data(request: Request, user: SignedIn) -> Response:
    """What is kept, and the way out."""
    return render(request, "account/data.html.j2", user)


@router.get("/account/export")
def export_data(user: SignedIn, db: Db) -> Response:
    """All that the database has about the person."""
    content = json.dumps(accounts.export_data(db, user), indent=2, ensure_ascii=False)
    headers = {"Content-Disposition": 'attachment; filename="dstress-account.json"', "Cache-Control": "no-store"}
    return Response(content, media_type="application/json", headers=headers)


@router.post("/account/delete")
def delete_account(request: Request, user: SignedIn, db: Db, password: FormSecret) -> Response:
    """Go for good."""
    _check_password(db, user, password)
    accounts.delete_account(db, user)
    response = redirect("/login", "The account is deleted.")
    response.delete_cookie(cookie_name(request))
    return response


def _check_password(db: Session, user: User, password: str) -> None:
    limits.count(db, f"check:{user.id}", _CHECKS)
    if not accounts.check_password(user, password):
        raise accounts.AccountError("this is not your password", fix="go back and try again")


# Personal tokens, for `dstress submit` and other programs.


@router.get("/account/tokens")
def show_tokens(request: Request, user: SignedIn, db: Db) -> Response:
    """Those that there are."""
    return _tokens_page(request, db, user)


@router.post("/account/tokens")
def make_token(
    request: Request, user: SignedIn, db: Db, name: FormLine, days: Annotated[int, Form(ge=1, le=3650)] = 365
) -> Response:
    """A new one, shown on this page and never again."""
    limits.count(db, f"token:{user.id}", _NEW_TOKENS)
    secret = accounts.make_token(db, user, name or "token", days)
    db.flush()
    return _tokens_page(request, db, user, secret)


def _tokens_page(request: Request, db: Session, user: User, secret: str = "") -> Response:
    query = select(Token).where(Token.user_id == user.id, Token.revoked_at.is_(None)).order_by(Token.id.desc())
    return render(request, "account/tokens.html.j2", user, tokens=list(db.scalars(query)), secret=secret, now=now())


@router.post("/account/tokens/{token_id}/revoke")
def revoke_token(user: SignedIn, db: Db, token_id: Id) -> Response:
    """End one."""
    accounts.revoke_token(db, user, token_id)
    return redirect("/account/tokens", "The token is revoked.")


# Teams: who is in them, and how others come in.


@router.get("/teams")
def show_teams(request: Request, user: SignedIn, db: Db) -> Response:
    """One's own."""
    mine = select(Membership).where(Membership.user_id == user.id).options(joinedload(Membership.team))
    return render(request, "account/teams.html.j2", user, memberships=list(db.scalars(mine)))


@router.post("/teams")
def make_team(user: SignedIn, db: Db, name: FormLine) -> Response:
    """A new one."""
    limits.count(db, f"team:{user.id}", _NEW_TEAMS)
    team = accounts.make_team(db, user, name)
    return redirect(f"/teams/{team.id}", "The team is there.")


@router.get("/teams/{team_id}")
def show_team(request: Request, user: SignedIn, db: Db, team_id: Id) -> Response:
    """Its members."""
    return _team_page(request, db, user, team_id)


@router.post("/teams/{team_id}/invite")
def invite_to_team(request: Request, user: SignedIn, db: Db, team_id: Id) -> Response:
    """A link for one more member, shown on this page and never again."""
    limits.count(db, f"invite:{user.id}", _TEAM_LINKS)
    if not accounts.find_membership(db, user, team_id).is_owner:
        raise accounts.AccountError("only an owner of the team can do this")
    link = accounts.invite(db, get_settings(request), user, team=db.get_one(Team, team_id))
    return _team_page(request, db, user, team_id, link)


def _team_page(request: Request, db: Session, user: User, team_id: int, link: str = "") -> Response:
    is_owner = accounts.find_membership(db, user, team_id).is_owner
    inside = select(Membership).where(Membership.team_id == team_id).options(joinedload(Membership.user))
    members = list(db.scalars(inside.order_by(Membership.joined_at)))
    values: dict[str, Any] = {"team": db.get_one(Team, team_id), "members": members, "is_owner": is_owner, "link": link}
    invitations = accounts.open_invitations(db, team_id) if is_owner else []
    return render(request, "account/team.html.j2", user, invitations=invitations, **values)


@router.post("/invitations/{invitation_id}/revoke")
def revoke_invitation(user: SignedIn, db: Db, invitation_id: Id) -> Response:
    """End a link that nobody has used yet."""
    team_id = accounts.revoke_invitation(db, user, invitation_id).team_id
    return redirect(f"/teams/{team_id}" if team_id else "/admin", "The invitation is revoked.")


@router.post("/teams/{team_id}/remove")
def remove_member(user: SignedIn, db: Db, team_id: Id, member: Annotated[int, Form(ge=1, le=2**31 - 1)]) -> Response:
    """Leave, or take somebody out."""
    accounts.remove_member(db, user, team_id, member)
    if member == user.id:
        return redirect("/teams", "You have left the team.")
    return redirect(f"/teams/{team_id}", "The member is taken out.")


@router.get("/join")
def show_invitation(request: Request, user: Visitor, db: Db, invitation: str = "") -> Response:
    """What an invitation is for."""
    row = accounts.find_link(db, Invitation, invitation)
    team = db.get(Team, row.team_id) if row.team_id else None
    values: dict[str, Any] = {"invitation": invitation, "role": row.role, "team": team}
    return render(request, "account/join.html.j2", user, **values)


@router.post("/join")
def accept_invitation(user: SignedIn, db: Db, invitation: FormSecret) -> Response:
    """Take it on."""
    limits.count(db, f"join:{user.id}", _TEAM_LINKS)
    accounts.accept_invitation(db, user, invitation)
    return redirect("/teams", "You are in.")


# For admins: people and their roles, invitations, the audit log.


@router.get("/admin")
def show_people(request: Request, user: Admin, db: Db, search: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Everybody, newest first, or those whose name or address has a word in it."""
    return _people_page(request, db, user, search)


def _people_page(request: Request, db: Session, user: User, search: str = "", link: str = "") -> Response:
    query = select(User).where(User.deleted_at.is_(None)).order_by(User.id.desc()).limit(_ROWS)
    if search:
        columns = (func.lower(User.name), User.email)
        query = query.where(or_(*(column.contains(search.lower(), autoescape=True) for column in columns)))
    values: dict[str, Any] = {"people": list(db.scalars(query)), "search": search, "link": link, "most": _ROWS}
    values["invitations"] = accounts.open_invitations(db, None)
    return render(request, "admin/people.html.j2", user, **values)


@router.post("/admin/people/{user_id}/roles")
def set_roles(user: Admin, db: Db, user_id: Id, roles: Annotated[list[Role] | None, Form()] = None) -> Response:
    """Give a person exactly these roles."""
    person = _require_person(db, user_id)
    accounts.set_roles(db, person, set(roles or ()), user)
    return redirect("/admin", f"The roles of {person.name} are saved.")


@router.post("/admin/people/{user_id}/disable")
def disable(user: Admin, db: Db, user_id: Id, disabled: Annotated[bool, Form()] = True) -> Response:
    """Shut a person out, or let them in again."""
    person = _require_person(db, user_id)
    if person.id == user.id:
        raise accounts.AccountError("an admin cannot shut themselves out")
    accounts.disable(db, person, user, is_disabled=disabled)
    return redirect("/admin", f"{person.name} is {'shut out' if disabled else 'let in again'}.")


@router.post("/admin/people/{user_id}/link")
def make_link(request: Request, user: Admin, db: Db, user_id: Id) -> Response:
    """A link with which a person sets a new password, to be given to them."""
    link = accounts.make_reset(db, get_settings(request), _require_person(db, user_id), user)
    return _people_page(request, db, user, link=link)


def _require_person(db: Session, user_id: int) -> User:
    person = db.get(User, user_id)
    if person is None or person.deleted_at:
        raise NotThere("There is no such person.")
    return person


@router.post("/admin/invitations")
def invite(
    request: Request, user: Admin, db: Db, role: Annotated[Role, Form()] = Role.MEMBER, note: FormLine = ""
) -> Response:
    """A link with which somebody signs up and gets a role."""
    return _people_page(request, db, user, link=accounts.invite(db, get_settings(request), user, role=role, note=note))


@router.get("/admin/audit")
def show_audit(
    request: Request, user: Admin, db: Db, before: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
) -> Response:
    """Who did what, newest first."""
    query = select(AuditEntry, User.name).outerjoin(User, User.id == AuditEntry.user_id)
    if before:
        query = query.where(AuditEntry.id < before)
    rows = [(entry, name) for entry, name in db.execute(query.order_by(AuditEntry.id.desc()).limit(_ROWS))]
    older = rows[-1][0].id if len(rows) == _ROWS else 0
    # An entry about a person has their number as its target; the page says whose account it was.
    about = {entry.id: int(entry.target) for entry, _ in rows if entry.action in _ABOUT_PEOPLE}
    people = {person.id: person.name for person in db.scalars(select(User).where(User.id.in_(about.values())))}
    names = {entry: people[person] for entry, person in about.items() if person in people}
    return render(request, "admin/audit.html.j2", user, rows=rows, older=older, names=names)
