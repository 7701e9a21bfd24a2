"""Plain sentences for slots that no template says: made of the slot's name, and ranked last."""

from __future__ import annotations

from functools import lru_cache

from dstress.generators.templates.library import Template
from dstress.generators.templates.system_acts import KINDS
from dstress.generators.templates.tokens import bare, lists, slot_of, tokens_of, words
from dstress.text import inflection as surface
from dstress.text.letters import name_words
from dstress.text.slot_kinds import kind_of

_REMEMBERED = 4096


@lru_cache(maxsize=_REMEMBERED)
def plain(part: str, is_flag: bool = False) -> tuple[Template, tuple[Template, ...]]:
    """Sentences that say one element of a key: one to open with, others to go on with.

    `is_flag`: the slot is answered with yes or no, so that no preference is not one for any of many.
    """
    slot, _, flag = part.partition("=")
    noun = noun_for(slot)
    form = _form(slot, flag)
    opening, *further = lists()["plain"][f"flag_{form}" if is_flag and form == "dontcare" else form]
    return _template(opening, part, noun), tuple(_template(one, part, noun) for one in further)


def _template(form: str, part: str, noun: str) -> Template:
    slot, _, flag = part.partition("=")
    text = form.replace("NOUN", noun).replace("VALUE", f"[{slot}]")
    return Template(tuple(tokens_of(f"{{{part}}} {text}" if flag else text)), 0.0, (0.0,) * len(KINDS))


def noun_for(slot: str) -> str:
    """A slot's name in words: `hotel-pricerange` -> `price range`, `has_laundry_service` -> `laundry service`."""
    slot = slot_of(slot)
    name = bare(slot)
    if name in lists()["named"]:
        return str(lists()["named"][name])
    named = name_words(slot)
    kept = [word for word in named if word not in words("names.idle")]
    noun = " ".join(kept or named)
    rest = noun.removeprefix("number ")
    return rest if rest == noun or _counts(rest) else f"number of {rest}"


def _counts(noun: str) -> bool:
    """Whether a noun is one that is counted: people, nights, tickets."""
    units = {**surface.table()["units"], **lists()["units"]}
    return noun.rpartition(" ")[2] in units.values()


def _form(slot: str, flag: str) -> str:
    named = name_words(slot)
    if flag == "dontcare":
        return flag
    if not flag:
        noun = noun_for(slot)
        if named[-1] == "name" and (len(named) == 1 or kind_of(slot)):
            return "name"
        if "price" in bare(slot) or named[-1] == "area":
            return "price" if "price" in bare(slot) else "area"
        return "value" if not _counts(noun) else "things" if noun in lists()["counting"]["things"] else "counted"
    if named[-1] == "allowed":
        return f"allowed_{flag}"
    return f"is_{flag}" if named[0] == "is" or (len(named) == 1 and named[0].endswith(("able", "ed"))) else flag
