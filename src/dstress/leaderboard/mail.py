"""Mail, where the settings name a server for it."""

from __future__ import annotations

import logging
import smtplib
import ssl
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from dstress.leaderboard.settings import Settings

_log = logging.getLogger(__name__)
_WAIT = 20.0


def send(settings: Settings, to: str, subject: str, text: str) -> None:
    """Send one mail. Runs after the answer: a server that fails is in the log, and tells nobody who has an account."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = settings.sender, to, subject
    message.set_content(text)
    parts = urlsplit(settings.smtp)
    try:
        kind = smtplib.SMTP_SSL if parts.scheme == "smtps" else smtplib.SMTP
        with kind(parts.hostname or "localhost", parts.port or 0, timeout=_WAIT) as server:
            if parts.scheme == "smtp" and server.has_extn("starttls"):
                server.starttls(context=ssl.create_default_context())
            if parts.username:
                server.login(unquote(parts.username), unquote(parts.password or ""))
            server.send_message(message)
    except (OSError, smtplib.SMTPException):
        _log.exception("a mail could not be sent")
