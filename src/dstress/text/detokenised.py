"""English as the Moses scripts leave it that first part it into tokens and then put it together again.

mwzeval compares and counts responses in this form. Both steps are one here: what the second undoes, the first does not
do, so that abbreviations and the escapes of XML need no rules.
"""

from __future__ import annotations

import re

_LETTER, _DIGIT = r"[^\W\d_]", r"\d"
_STEPS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\s+", " "),
        (r"[\x00-\x1f]", ""),
        (r"([^\w\s.'`,-]|_)", r" \1 "),
        (r"(\.{2,})", r" \1 "),
        # A comma within a number stays.
        (r"(\D),", r"\1 , "),
        (r",(\D)", r" , \1"),
        (r"(\d),$", r"\1 , "),
        # What follows an apostrophe within a word is the word's end: "it 's".
        (rf"((?!{_LETTER}).)'((?!{_LETTER}).)", r"\1 ' \2"),
        (rf"((?!{_LETTER}|{_DIGIT}).)'({_LETTER})", r"\1 ' \2"),
        (rf"({_LETTER})'((?!{_LETTER}).)", r"\1 ' \2"),
        (rf"({_LETTER})'({_LETTER})", r"\1 '\2"),
        (r"(\d)'(s)", r"\1 '\2"),
        # A full stop stays on a word, but not on a quotation mark.
        (r"(?<!\S)(['`]+)\.(?!\S)(?!\s+[a-zà-ÿ])", r"\1 ."),
        (r"\.' ?$", " . ' "),
    )
]
_OPENING = re.compile(r"[$¢£¤¥֏؋฿₠-⃀﷼﹩＄￠￡￥￦(\[{¿¡]+")
_CLOSING = re.compile(r"[,.?!:;\\%}\])]+")
_ENDING = re.compile(rf"'{_LETTER}")
_QUOTE = re.compile(r"['\"„“`]+")


_CONTRACTION = re.compile(r"\s+(n't|'(?:s|m|d|re|ve|ll))\b", re.IGNORECASE)


def join_contractions(text: str) -> str:
    """`it 's` and `do n't`, as corpora in tokens write them, as everybody else does."""
    return _CONTRACTION.sub(r"\1", text)


def detokenise(text: str) -> str:
    """`lovely ( and cheap ) , is n't it ?` -> `lovely (and cheap), is n't it?`."""
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text.strip())
    tokens = text.split()
    pieces: list[str] = []
    blank, quotes = " ", dict[str, int]()
    for place, token in enumerate(tokens):
        before, blank = blank, " "
        if _OPENING.fullmatch(token):
            blank = ""
        elif _CLOSING.fullmatch(token) or (place and _ENDING.match(token)):
            before = ""
        elif _QUOTE.fullmatch(token):
            mark = '"' if set(token) <= set("„“") else token
            if quotes.get(mark, 0) % 2:
                before = ""
            elif token == "'" and place and tokens[place - 1].endswith("s"):
                pieces.append(token)  # a plural's genitive opens no quotation
                continue
            else:
                blank = ""
            quotes[mark] = quotes.get(mark, 0) + 1
        pieces += [before, token]
    return "".join(pieces).strip()
