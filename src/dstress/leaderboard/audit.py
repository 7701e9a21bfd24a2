"""The audit log: who did what, written in the transaction of what was done."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from dstress.leaderboard.tables.accounts import AuditEntry, User


def record(db: Session, user: User | None, action: str, target: str = "", *, address: str = "", **details: Any) -> None:
    """Note an action such as `token.revoke`; it is kept if, and only if, what was done is."""
    entry = AuditEntry(user_id=user.id if user else None, action=action, target=target[:200], details=details)
    entry.address = address[:64]
    db.add(entry)
