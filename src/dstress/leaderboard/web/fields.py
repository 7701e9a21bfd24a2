"""What people may type: a line, a text, an address. For forms, addresses and the API, so that all refuse the same."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated

from fastapi import Form, Path, Query
from pydantic import AfterValidator, StringConstraints

_ADDRESS = re.compile(r"[^@\s,;<>\"]{1,64}@[^@\s,;<>\"]{1,185}")
_BREAKING = {"Cc", "Cs", "Co"}
"""Control characters, halves of pairs and private ones: a database or a browser stumbles over them."""
_TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""They turn the direction of writing, and make one name look like another."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Characters of no width, and fillers: two names that differ in them only look the same, and so are the same."""


def clean_line(text: str) -> str:
    """One line: blanks made single, nothing that cannot be seen."""
    return _check_line(_INVISIBLE.sub("", _check_line(text)))


def _check_line(text: str) -> str:
    text = " ".join(unicodedata.normalize("NFC", text).split())
    if _TURNING.search(text) or any(unicodedata.category(letter) in _BREAKING for letter in text):
        raise ValueError("it has characters that cannot be shown")
    return text


def fold_name(name: str) -> str:
    """What two names have in common that differ in capitals, ligatures or the width of letters only."""
    return unicodedata.normalize("NFKC", name).casefold()


def clean_text(text: str) -> str:
    """Several lines, the same otherwise."""
    return "\n".join(_check_line(line) if line.strip() else "" for line in text.splitlines())


def clean_email(text: str) -> str:
    """An address for mail, in lower case. Whether it works is known once a mail arrives."""
    text = clean_line(text).lower()
    if not _ADDRESS.fullmatch(text):
        raise ValueError("it is no e-mail address")
    return text


def clean_locales(text: str) -> str:
    """Languages such as `en` or `en-GB`, as they are usually written, with commas between."""
    parts = [part.strip().partition("-") for part in text.split(",") if part.strip()]
    for language, _, country in parts:
        if not re.fullmatch(r"[A-Za-z]{2,3}", language) or not re.fullmatch(r"[A-Za-z]{2}|", country):
            raise ValueError("a language is written as en or en-GB")
    return ", ".join(f"{language.lower()}-{country.upper()}".rstrip("-") for language, _, country in parts)


Line = Annotated[str, StringConstraints(max_length=200), AfterValidator(clean_line)]
Text = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(clean_text)]
Email = Annotated[str, StringConstraints(max_length=254), AfterValidator(clean_email)]
Secret = Annotated[str, StringConstraints(max_length=1000)]
"""A password, a link's secret: taken as it is."""

Locales = Annotated[str, StringConstraints(max_length=200), AfterValidator(clean_locales)]
FormLocale = Annotated[str, StringConstraints(max_length=6), AfterValidator(clean_locales), Form()]

FormLine = Annotated[Line, Form()]
FormEmail = Annotated[Email, Form()]
FormSecret = Annotated[Secret, Form()]
MULTIPART = Form(media_type="multipart/form-data")
"""For a form with a file."""

Slug = Annotated[str, Path(max_length=100)]
"""A benchmark's name in an address, or a layout's."""
Choice = Annotated[str, Query(max_length=200)]
"""What is chosen of a list, behind the question mark; empty is the default."""
