"""What a server is told: one frozen object, from the command line's options and `DSTRESS_*` in the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dstress.errors import DstressError
from dstress.storage.home import home

SIGN_UP = ("open", "invitation")


@dataclass(frozen=True)
class Settings:
    """Every setting of a server. Each can be given as `DSTRESS_<NAME>`, so that a container needs no command line."""

    folder: Path
    """Where the database and the files of submissions lie, unless the two below say otherwise."""
    database: str = ""
    """A SQLAlchemy address such as `postgresql+psycopg://host/name`; empty is SQLite in the folder."""
    files: str = ""
    """`s3://bucket/prefix`; empty is a folder of the folder."""
    s3_endpoint: str = ""
    """The address of an S3-compatible store that is not Amazon's."""
    url: str = "http://127.0.0.1:8000"
    """How people reach the server; links in mails begin with it, and https makes cookies secure."""
    sign_up: str = "open"
    smtp: str = ""
    """`smtp://user:password@host:587`; without it an admin makes links to set a new password."""
    sender: str = "dstress@localhost"
    proxies: str = "127.0.0.1"
    """Addresses of reverse proxies whose word about a client's address is believed."""
    max_upload: int = 200_000_000
    """Bytes of a file that is submitted."""
    session_days: int = 30
    private_hosts: str = ""
    """Hosts, with commas between, at which submitted systems may be talked to though their addresses are private."""

    def __post_init__(self) -> None:
        if self.sign_up not in SIGN_UP:
            fix = "DSTRESS_SIGN_UP is open or invitation"
            raise DstressError(f"sign-up cannot be {self.sign_up!r}", where="settings", fix=fix)

    @property
    def database_url(self) -> str:
        """The database's address."""
        return self.database or f"sqlite:///{(self.folder / 'platform.db').absolute()}"

    def environment(self) -> dict[str, str]:
        """The settings as variables, for a process that reads them again."""
        return {f"DSTRESS_{field.name.upper()}": str(getattr(self, field.name)) for field in fields(self)}

    @property
    def is_https(self) -> bool:
        """Whether people come by https."""
        return self.url.startswith("https://")


def read_settings(**options: Any) -> Settings:
    """Settings from options; one that is None or not given comes from the environment, or is the default."""
    values: dict[str, Any] = {"folder": home() / "server"}
    for field in fields(Settings):
        variable = f"DSTRESS_{field.name.upper()}"
        value = options.get(field.name)
        if value is None:
            value = os.environ.get(variable) or None
        if value is None:
            continue
        try:
            values[field.name] = {"Path": Path, "int": int}.get(str(field.type), lambda text: text)(value)
        except ValueError:
            raise DstressError(f"{variable} is no number: {value!r}", where="settings") from None
    return Settings(**values)
