"""What people may type: a line, a text, an address. Used by forms and by the API, so that both refuse the same."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated

from fastapi import Form
from pydantic import AfterValidator, StringConstraints

_ADDRESS = re.compile(r"[^@\s,;<>\"]{1,64}@[^@\s,;<>\"]{1,185}")
_BREAKING = {"Cc", "Cs", "Co"}
"""Control characters, halves of pairs and private ones: a database or a browser stumbles over them."""
_TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""They turn the direction of writing, and make one name look like another."""


def clean_line(text: str) -> str:
    """One line: blanks made single, nothing that cannot be shown."""
    text = " ".join(unicodedata.normalize("NFC", text).split())
    if _TURNING.search(text) or any(unicodedata.category(letter) in _BREAKING for letter in text):
        raise ValueError("it has characters that cannot be shown")
    return text


def clean_text(text: str) -> str:
    """Several lines, the same otherwise."""
    return "\n".join(clean_line(line) if line.strip() else "" for line in text.splitlines())


def clean_email(text: str) -> str:
    """An address for mail, in lower case. Whether it works is known once a mail arrives."""
    text = clean_line(text).lower()
    if not _ADDRESS.fullmatch(text):
        raise ValueError("it is no e-mail address")
    return text


Line = Annotated[str, StringConstraints(max_length=200), AfterValidator(clean_line)]
Text = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(clean_text)]
Email = Annotated[str, StringConstraints(max_length=254), AfterValidator(clean_email)]
Secret = Annotated[str, StringConstraints(max_length=1000)]
"""A password, a link's secret: taken as it is."""

FormLine = Annotated[Line, Form()]
FormText = Annotated[Text, Form()]
FormEmail = Annotated[Email, Form()]
FormSecret = Annotated[Secret, Form()]
