"""Phrasings into words: picks one, fills its blanks in a speaker's voice, and composes noun phrases.

A noun phrase is built from parts (a cheap | Thai | restaurant | in the north | for two people), so a few dozen
phrasings give thousands of grammatical openings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random

from benchmarks.reminder.draft import Draft, fill, join, mark_value, with_article
from benchmarks.reminder.specs import ServiceSpec, SlotSpec, Texts, articles, words
from benchmarks.reminder.values import SYSTEM_VOICE, Voice, draw_surface, draw_value
from dstress.dialogue import slot_id

TEST_ONLY = "~"
BRIEF_WORDS = 4


class Phraser:
    """One speaker's way with words in one dialogue."""

    def __init__(self, split: str, rng: Random, voice: Voice = SYSTEM_VOICE) -> None:
        self.split, self.rng, self.voice = split, rng, voice

    def pick(self, texts: Texts) -> str:
        """A phrasing; of two, a terse speaker takes the shorter and a chatty one the longer."""
        usable = _usable(texts, self.split == "test")
        pair = self.rng.choice(usable), self.rng.choice(usable)
        if self.voice.length == "plain":
            return pair[0]
        return (min if self.voice.length == "terse" else max)(pair, key=len)

    def shared(self, key: str) -> Draft:
        """A phrasing that every user has, such as thanks."""
        return Draft(self.pick(words().user[key]))

    def value(self, service: ServiceSpec, slot: SlotSpec, value: str) -> Draft:
        """The value as this voice says it, marked."""
        text = draw_surface(slot, value, self.voice, self.rng)
        return mark_value(text, slot_id(service.name, slot.name), value, article=articles().get(value, ""))

    def unmarked(self, slot: SlotSpec, value: str) -> Draft:
        """A value that is mentioned but not meant: an earlier one, or a distractor."""
        return Draft(articles().get(value, "") + draw_surface(slot, value, self.voice, self.rng))

    def about(self, template: str, service: ServiceSpec, values: Mapping[str, str], **old: str) -> Draft:
        """A phrasing about one slot (`{v}`) or several (by their names); `old` holds the values before, by slot."""
        only = next(iter(values))

        def blank(key: str) -> Draft:
            name, _, part = key.partition(".")
            slot = service.slot(only if name in ("v", "noun", "not") else name)
            if part == "old":
                return self.unmarked(slot, old[slot.name])
            if name == "not" or part == "not":
                avoid = (*values.values(), *old.values())
                return self.unmarked(slot, draw_value(slot, self.split, self.rng, avoid))
            if name == "noun" or part == "noun":
                return Draft(slot.noun[0 if values[slot.name] == "1" else 1])
            return self.value(service, slot, values[slot.name])

        return fill(template, blank)

    def post(self, service: ServiceSpec, slot: SlotSpec, value: str, plain: bool = False) -> Draft:
        """A phrase that follows a noun: `on Friday`. Empty if the slot has none. `plain` takes the first one."""
        texts = slot.post_no if slot.kind == "flag" and value == "no" else slot.post
        texts = tuple(text for text in texts if text.lstrip(TEST_ONLY) not in slot.barred.get(value, ()))
        if plain and slot.confirm:
            texts = (slot.confirm,)
        if not texts:
            return Draft("")
        return self.about(texts[0] if plain else self.pick(texts), service, {slot.name: value})

    def reference(self, service: ServiceSpec, slot: SlotSpec, expressions: Texts, value: str) -> Draft:
        """A phrase that only refers to a value of another service: `on the same day`."""
        expression = self.pick(expressions)
        marked = mark_value(expression, slot_id(service.name, slot.name), value, refer=True)
        return fill(self.pick(slot.refer_post), lambda _: marked)

    def statement(self, service: ServiceSpec, slot: SlotSpec, value: str) -> Draft:
        """A clause of its own about a slot: `we'd come on Friday`."""
        texts = slot.say_no if slot.kind == "flag" and value == "no" else slot.say_for.get(value, slot.say)
        if value in slot.say_barred or not texts:
            return self.answer(service, slot, value)
        return self.about(self.pick(texts), service, {slot.name: value})

    def answer(self, service: ServiceSpec, slot: SlotSpec, value: str) -> Draft:
        """An answer to the question for a slot, from one word to a sentence."""
        kind = words().kinds[slot.kind]
        if slot.kind == "flag":
            return Draft(self.pick(kind.answer if value == "yes" else kind.answer_no))
        if value in slot.special and self.rng.random() < 0.5:
            # An idiom for one value: the part in brackets says it, or all of it does (`just me`).
            before, bracket, rest = self.pick(slot.special[value]).partition("[")
            if not bracket:
                return mark_value(before, slot_id(service.name, slot.name), value)
            inner, _, after = rest.partition("]")
            marked = mark_value(inner, slot_id(service.name, slot.name), value)
            return join([Draft(before), marked, Draft(after)], separator="")
        texts: Texts = slot.answer_for.get(value, slot.answer + kind.answer)
        if self.voice.length == "terse":
            texts = tuple(text for text in texts if len(text.split()) <= BRIEF_WORDS) or texts
        elif self.voice.length == "chatty" and not slot.answer_for:
            texts += slot.say if value not in slot.say_barred else ()
        return self.about(self.pick(texts), service, {slot.name: value})

    def post_or_statement(self, service: ServiceSpec, slot: SlotSpec, value: str) -> Draft:
        """The shortest clause that is clear without a question."""
        if slot.noun:
            return self.about("{v} {noun}", service, {slot.name: value})
        return self.post(service, slot, value, plain=True) or self.statement(service, slot, value)

    def change(self, service: ServiceSpec, slot: SlotSpec, value: str, old: str) -> Draft:
        """A change of mind: `actually, make it Friday instead of Thursday`."""
        if slot.kind == "flag":
            return Draft(self.pick(slot.change if value == "yes" else slot.change_no))
        texts = slot.change + words().kinds[slot.kind].change
        return self.about(self.pick(texts), service, {slot.name: value}, **{slot.name: old})

    def together(self, service: ServiceSpec, values: Mapping[str, str]) -> Draft:
        """A phrasing about exactly these slots at once; empty if the service has none."""
        fitting = tuple(
            text for text in _usable(service.together, self.split == "test") if _slots_in(text) == sorted(values)
        )
        if not fitting or "1" in (values.get("people"), values.get("guests"), values.get("tickets")):
            return Draft("")
        return self.about(self.pick(fitting), service, values)

    def noun_phrase(self, service: ServiceSpec, values: Mapping[str, str], tail: Sequence[Draft] = ()) -> Draft:
        """`cheap Thai restaurant in the north`, without its article; slots without a place in it are left out."""
        before: list[Draft] = []
        after: list[Draft] = []
        noun = Draft(self.pick(service.nouns) if "name" not in values else service.booking)
        for name, value in values.items():
            slot = service.slot(name)
            if slot.head:
                noun = self.value(service, slot, value)
            elif slot.adjective:
                before.append(self.value(service, slot, value))
            else:
                after.append(self.post(service, slot, value))
        return join([*reversed(before), noun, *after, *tail])

    def summary(self, service: ServiceSpec, values: Mapping[str, str]) -> Draft:
        """The noun phrase of a booking, as the desk repeats it."""
        posts = [self.post(service, service.slot(name), value, plain=True) for name, value in values.items()]
        return with_article(join([Draft(service.booking), *posts]))


@cache
def _usable(texts: Texts, in_test: bool) -> Texts:
    if in_test:
        return tuple(text.removeprefix(TEST_ONLY) for text in texts)
    return tuple(text for text in texts if not text.startswith(TEST_ONLY))


@cache
def _slots_in(template: str) -> list[str]:
    names = {part.partition("}")[0].partition(".")[0] for part in template.split("{")[1:]}
    return sorted(names)


def fits_noun_phrase(slot: SlotSpec, value: str) -> bool:
    """Whether a noun phrase has a place for the slot."""
    posts = slot.post_no if slot.kind == "flag" and value == "no" else slot.post
    return slot.head or slot.adjective or bool(posts)


def is_named(draft: Draft, name_slot: str) -> bool:
    """Whether a noun phrase begins with a proper name, which takes no article."""
    return bool(draft.marks) and draft.marks[0].start == 0 and draft.marks[0].slot.endswith(name_slot)
