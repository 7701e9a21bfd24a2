"""Secrets: where they come from, and that they reach no file.

A component is told the name of a secret, never the secret: an environment variable, or a file as `file:PATH`. Whatever
is written passes `redact`, so that a server that sends our key back does not put it into a run.
"""

from __future__ import annotations

import html
import os
import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from dstress.errors import DstressError

_KEYS = ("DSTRESS_API_KEY", "OPENAI_API_KEY")
_SHORTEST = 6
"""A shorter text is no secret: to black out every `a` would spoil all files and hide nothing."""
_NAMED = re.compile(r"\$\{(\w+)\}")
_TELLING = re.compile(r"(?i)(.*[_-])?(api|access|auth)?(key|token|secret|password|passwd|pwd|signature|sig)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORD = re.compile(
    r"(?i)\w*(token|secret|password|passwd|passphrase|apikey|credential)s?|keys?|(ssh|user)?pass|pwd|pat|jwt|cookies?|dsn"
    r"|o?auth[0-9]?|authorization|bearer|creds?"
)
"""Words in names of variables that somebody else set for another program: a tracker's error may quote any of them."""
_IN_ADDRESS = re.compile(r"://[^/\s:@]*:([^/\s]+)@")
"""The password in `postgresql://user:password@host/name`, whatever the variable is called."""
_IN_SETTINGS = re.compile(r"(?i)(?:key|token|secret|password|pwd|signature|sig)=([^;&\s\"']+)")
"""The same in `host=db password=...`, `AccountName=a;AccountKey=...` and `https://host/a?sig=...`."""
_WHOLE_LINE = 16
"""Letters of a line of a secret, such as a private key's, that is one by itself: an error may quote one line."""
_PLAIN = re.compile(r"[A-Za-z]{,15}|.{,7}|\d{,9}", re.DOTALL)
"""What such a variable has where it is no secret, or one that is no better than a word of the data."""
_SAFE = re.compile(r"[A-Za-z0-9_.~-]+")
"""Letters that JSON, Python, HTML and addresses leave as they are."""
_LETTERS = re.compile(r"\\+|[^\\]")
_SHORT = {"\n": b"n", "\r": b"r", "\t": b"t", " ": rb"\+"}
"""Letters that are written shorter still, after a backslash or in an address."""
_ESCAPES = re.compile(rb"(?<!\\)\\+\*\*\*")
"""What stood before the first letter of a secret in JSON; alone it would spoil the JSON."""
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


def secrets_read() -> frozenset[str]:
    """Every secret that this process has read; a worker tells whoever writes down what it answers."""
    return frozenset(_read)


def hide_too(secrets: frozenset[str]) -> None:
    """Hide what a worker has read, here as there."""
    _read.update(secrets)


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
    # The public way to all variables decodes each of them, at every line that is written.
    for plain, spelling in _spellings(tuple(vars(os.environ)["_data"].items()), frozenset(_read)):
        if plain in content:
            content, times = spelling.subn(_HIDDEN, content)
            content = _ESCAPES.sub(_HIDDEN, content) if times else content
    return content


@lru_cache(maxsize=8)
def _spellings(
    environment: tuple[tuple[str | bytes, str | bytes], ...], read: frozenset[str]
) -> list[tuple[bytes, re.Pattern[bytes]]]:
    """Every secret, the longest first, for one may be a part of another: a stretch of it that all its spellings have,
    by which most content is passed over, and an expression for them.
    """
    variables = {os.fsdecode(name): os.fsdecode(value) for name, value in environment}
    secrets = {secret for secret in (*read, *map(variables.get, _KEYS)) if secret and len(secret) >= _SHORTEST}
    likely = {value for name, value in variables.items() if _is_called_secret(name) and not _is_path(value)}
    likely.update(line for value in likely.copy() for line in value.split() if len(line) >= _WHOLE_LINE)
    for value in variables.values():
        inside = (*_IN_ADDRESS.findall(value), *_IN_SETTINGS.findall(value))
        likely.update(form for password in inside for form in (password, unquote(password)))
    secrets.update(value for value in likely if not _PLAIN.fullmatch(value))
    return [
        (max(_SAFE.findall(secret), key=len, default="").encode(), re.compile(_spell(secret)))
        for secret in sorted(secrets, key=lambda secret: (-len(secret), secret))
        if secret.strip("\\")
    ]


def _is_path(value: str) -> bool:
    """Whether a value is a place on this machine: a key may begin with a slash too."""
    place = Path(value)
    return place.is_absolute() and len(place.parts) > 1 and Path(*place.parts[:2]).exists()


def _is_called_secret(name: str) -> bool:
    return any(_SECRET_WORD.fullmatch(word) for word in _WORD.findall(name))


def _spell(secret: str) -> bytes:
    """An expression for a secret as it is and as JSON, Python, HTML and addresses write it, or one inside another.

    It passes over content in one go, whatever that is: a run of backslashes is matched in one place only, and one
    before the secret not at all.
    """
    spelled = escapes = b""
    for letter in _LETTERS.findall(secret.lstrip("\\")):
        if _SAFE.fullmatch(letter):
            spelled, escapes = spelled + re.escape(letter).encode(), rb"\\*+"
            continue
        first = letter[0]
        raw, units = first.encode("utf-8", "surrogateescape"), first.encode("utf-16-be", "surrogatepass")
        spellings = [
            re.escape(raw),
            b"".join(b"%%%02x" % byte for byte in raw),
            rb"\\*+".join(b"x%02x" % byte for byte in raw),
            rb"\\*+".join(b"u%02x%02x" % pair for pair in zip(units[::2], units[1::2], strict=True)),
            b"&(?:amp;){,3}(?:#%d|#x%x|%s);" % (ord(first), ord(first), html.escape(first)[1:-1].encode() or b"#0"),
            *([_SHORT[first]] if first in _SHORT else []),
        ]
        spelling = b"(?i:%s)" % b"|".join(spellings)
        spelled += spelling + b"++" if first == "\\" else escapes + spelling
        escapes = b"" if first == "\\" else rb"\\*+"
    return spelled


def redact_text(text: str) -> str:
    """The same for a text. Whoever shortens one does this first: of half a secret nothing would be found."""
    return redact(text.encode("utf-8", "backslashreplace")).decode()
