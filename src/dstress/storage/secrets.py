"""Secrets: where they come from, and that they reach no file.

A component is told the name of a secret, never the secret: an environment variable, or a file as `file:PATH`. Whatever
is written passes `redact`, so that a server that sends our key back does not put it into a run.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

from dstress.errors import DstressError

_KEYS = ("DSTRESS_API_KEY", "OPENAI_API_KEY")
_SHORTEST = 6
"""A shorter text is no secret: to black out every `a` would spoil all files and hide nothing."""
_NAMED = re.compile(r"\$\{(\w+)\}")
_TELLING = re.compile(r"(?i)(.*[_-])?(api|access|auth)?(key|token|secret|password|passwd|pwd|signature|sig)")
_HIDDEN = b"***"
_read: set[str] = set()


def api_key() -> str:
    """The key of language models in the environment, `DSTRESS_API_KEY` or else `OPENAI_API_KEY`; empty if none."""
    return next((os.environ[name] for name in _KEYS if name in os.environ), "")


def read_secret(name: str) -> str:
    """The secret behind a name: an environment variable, or `file:PATH`."""
    path = name.removeprefix("file:")
    try:
        secret = Path(path).read_text(encoding="utf-8").strip() if path != name else os.environ[name]
    except (KeyError, OSError, ValueError):
        raise DstressError(  # without what was given, be it in a spec: it may be the key itself
            "it is given by name, and there is no environment variable or file of the name that was given",
            where="a key",
            fix="put the key into the environment (export MY_KEY=...) and write MY_KEY, or write file:PATH",
        ) from None
    _read.add(secret)
    return secret


def fill_in(url: str) -> str:
    """An address with the secrets that it names: `https://host/track?api_key=${MY_KEY}`."""
    return _NAMED.sub(lambda named: quote(read_secret(named[1]), safe=""), url)


def has_secret(url: str) -> bool:
    """Whether an address has a secret itself, which would be stored with whatever it is an address of."""
    parts = urlsplit(url)
    named = [value for name, value in parse_qsl(parts.query) if _TELLING.fullmatch(name)]
    return "@" in parts.netloc or any(not _NAMED.fullmatch(value) for value in named)


def redact(content: bytes) -> bytes:
    """Content without any secret that this process has read, or has in its environment, in any spelling."""
    for secret in _read | {api_key()}:
        if len(secret) >= _SHORTEST:
            for spelling in {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}:
                content = content.replace(spelling.encode("utf-8", "surrogateescape"), _HIDDEN)
    return content


def redact_text(text: str) -> str:
    """The same for a text. Whoever shortens one does this first: of half a secret nothing would be found."""
    return redact(text.encode("utf-8", "backslashreplace")).decode()
