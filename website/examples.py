"""`python -m website.examples`: what each stressor makes of one turn, for docs/gallery.md.

The playground's code finds it, so that the page and the playground show the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from dstress.corpora import load
from dstress.reports.small_page import Part
from dstress.storage.atomic import replacing
from dstress.studies.playground import Change, Made, Playground, Scene, read_state
from website.pages import ROOT

PAGE = ROOT / "docs" / "gallery.md"
BEGIN, END = "<!-- Made by `python -m website.examples`. -->\n", "<!-- End. -->\n"
USER = "I need a taxi from the Rookery Inn to Saltfleet on Friday, leaving at 18:30, for two people please."
LABEL = """taxi-departure = Rookery Inn
taxi-destination = Saltfleet
taxi-day = friday
taxi-leave_at = 18:30
taxi-passengers = 2 | two"""
SPECS = (
    "typos(rate=0.3)",
    "word_noise(rate=0.3)",
    "verbosity",
    "simplification",
    "disfluency",
    "paraphrase",
    "indirect",
    "speech_text",
    "phonetic_names",
    "entities",
    "unseen_entities",
    "values",
    "time_format",
    "out_of_domain(rate=1)",
    "schema_noise",
    "entities+typos(rate=0.3)",
)
_SEEDS = range(1, 6)
_TAGS = {"gone": "del", "new": "ins"}


def render_examples() -> str:
    """The part of the page: a row for each stressor, with the first seed that changes the turn."""
    playground = Playground(load("reminder:test"))
    dialogue = playground.find("")
    scene = Scene(dialogue, 0).write(USER, "", read_state(LABEL, playground.corpus.schema))
    label = ", ".join(line.replace(" = ", " ").partition(" |")[0] for line in LABEL.splitlines())
    head = f"The user says *{USER}* The label: {label}.\n\n"
    head += "| stressor | seed | what becomes of it | label |\n|---|---|---|---|\n"
    rows = []
    for spec in SPECS:
        made = playground.try_out(spec, scene, _SEEDS).made
        chosen = next((each for each in made if not each.reason), made[0])
        rows.append(f"| `{spec}` | {chosen.seeds[0]} | {' '.join(_words(chosen))} | {_label(chosen)} |\n")
    return head + "".join(rows)


def _words(made: Made) -> Iterator[str]:
    if made.reason:
        yield f"left alone: {made.reason}"
    elif made.schema:
        changes = (f"<del>{slot.before}</del> <ins>{slot.after}</ins>" for slot in made.schema[:3])
        yield f"{', '.join(changes)} and {len(made.schema) - 3} more slots of the schema; the text stays"
    else:
        yield "".join(map(_mark, made.user))


def _mark(part: Part) -> str:
    """A piece of a text in Markdown; marks of emphasis would not work in the middle of a word."""
    text = escape(part.text, quote=False).replace("|", "&#124;")
    return f"<{_TAGS[part.kind]}>{text}</{_TAGS[part.kind]}>" if part.kind in _TAGS else text


def _label(made: Made) -> str:
    if made.schema:
        return "the same values"
    return ", ".join(map(_change, made.label)) or "the same"


def _change(change: Change) -> str:
    sides = _mark(Part("gone", change.before)), _mark(Part("new", change.after)) if change.after else ""
    return " ".join(filter(None, (change.slot, *sides)))


def main() -> None:
    """Write the part anew."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    with replacing(PAGE) as out:
        out.write(f"{before}{BEGIN}\n{render_examples()}\n{END}{after}".encode())


if __name__ == "__main__":
    main()
