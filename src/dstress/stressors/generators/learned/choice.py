"""Which samples of a language model say their goal and nothing else, and which of those training lacks most.

A tracker that was trained on a corpus reads its usual sentences with ease. So among the samples that pass, those come
first whose wording is new and far from the user's own, but not those that the model itself finds unlikely.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from dstress.dialogue import DONTCARE
from dstress.resources import Material
from dstress.stressors.generators.base import Candidate, Request
from dstress.stressors.generators.goals import flag_of
from dstress.stressors.generators.learned import meaning
from dstress.stressors.generators.matching import find_oversaid, find_unsaid, without_values
from dstress.stressors.generators.templates.tokens import runs
from dstress.text.edits import differing_words
from dstress.text.letters import fold, name_words
from dstress.text.ngrams import stutters
from dstress.text.numbers import number_words

_TOKEN = re.compile(r"\[[^\]]+\]|\d+(?:[:.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[?.,!]")
_FIGURE = re.compile(r"(?<![\w:.])\d+(?:[:.]\d+)*")
_TURNING = re.compile(r"\b(?:not|no|never|nothing|without|cannot|\w+n ?'t)\b")
_RELATION = re.compile(r"\b(?:before|after|until|around|between|earliest|latest|least|most|except|instead|or)\b")
_ODD = re.compile(
    r"^please\s?[.,]|\ba (?!and\b|one|uni|eu|us)[aeiou]\w+|\ban (?!hour|8|11|18)[^aeiou\W]\w*|[.,?!] [.,?!]|\["
)
"""What no user means to write."""
_NAMES = frozenset({"name", "departure", "destination", "day", "city", "location", "title", "date"})
"""Slots whose values must be said letter by letter."""
_LONGEST_RUN = 5
_TELLING = 0.5  # a word that says a value so often, of all the times it is used, says one wherever it stands
_OFTEN, _UNUSUAL = 10, 0.07  # after words that were used so often, a slot needs this share of their values
_LOOSE = 0.6  # the share of a turn's own content words that must stay in a paraphrase
_LONGEST = 50
_UNLIKELY = -1.2  # the mean log-probability of a word below which samples wander
_FLUENT = -0.6

_ALWAYS_KEPT = ("yes", "no", "bye", "same", "choose", "other", "book")
_ONLY_IF_OWN = ("no", "bye", "same", "choose", "other")
"""What leads beyond a goal: "the same day", "any of them"; allowed where the user's own words do it."""


class Usage(NamedTuple):
    """How the users of a training corpus write."""

    values: frozenset[str]
    """Words that say a value wherever they stand."""
    patterns: frozenset[str]
    """Whole utterances with placeholders for values."""
    grams: frozenset[str]
    """Their runs of four tokens."""
    openers: Mapping[str, float]
    """The share of utterances that open with four tokens, of those that several do."""
    contexts: Mapping[str, Mapping[str, int]]
    """How often values of which slots stand between which words."""

    @classmethod
    def learn(cls, train: Material) -> Usage:
        """Read off every user turn."""
        used, as_values, openers = Counter[str](), Counter[str](), Counter[str]()
        contexts: dict[str, Counter[str]] = defaultdict(Counter)
        ontology = {fold(value) for slot in train.schema.slots.values() for value in slot.values}
        patterns, grams = set[str](), set[str]()
        for dialogue in train:
            for turn, changed in zip(dialogue.turns, dialogue.updates(), strict=True):
                values = {slot: forms[0] for slot, forms in changed.items() if forms}
                ontology.update(fold(value) for value in values.values() if not flag_of(value))
                folded = fold(turn.user)
                as_values.update(value for each in values.values() if (value := fold(each)) in folded)
                used.update(runs(_TOKEN.findall(folded), _LONGEST_RUN))
                tokens = pattern_of(turn.user, values)
                patterns.add(" ".join(tokens))
                grams.update(_grams(tokens))
                openers[" ".join(tokens[:4])] += 1
                for context, slot in _contexts(tokens):
                    contexts[context][slot] += 1
        telling = (
            value for value in ontology if " " in value or (used[value] and as_values[value] >= _TELLING * used[value])
        )
        return cls(
            frozenset(value for value in telling if len(value) > 2),
            frozenset(patterns),
            frozenset(grams),
            {opener: number / openers.total() for opener, number in openers.items() if number > 2},
            {context: dict(slots) for context, slots in contexts.items() if slots.total() >= _OFTEN},
        )


def choose(request: Request, samples: Mapping[str, float], usage: Usage, n: int) -> list[Candidate]:
    """Up to `n` of the samples (text -> mean log-probability of a word) that pass, the newest wording first."""
    lower = request.utterance is not None and request.utterance.text.islower()
    likely = [
        Candidate(text.lower() if lower else text, novelty(request, text, likelihood, usage))
        for text, likelihood in samples.items()
        if likelihood >= _UNLIKELY
    ]
    ranked = sorted(likely, key=lambda candidate: (-candidate.score, candidate.text))
    return list(islice((each for each in ranked if not find_problem(request, each.text, usage)), n))


def novelty(request: Request, text: str, likelihood: float, usage: Usage) -> float:
    """How new a wording is: parts that training lacks, distance from the user's own, less what is unlikely."""
    tokens = pattern_of(text, request.goal.spoken)
    grams = list(_grams(tokens))
    score = sum(gram not in usage.grams for gram in grams) / max(1, len(grams))
    score += 0.5 * (" ".join(tokens) not in usage.patterns)
    score -= 30 * min(0.01, usage.openers.get(" ".join(tokens[:4]), 0.0))
    if request.utterance is not None:
        differing, words = differing_words(request.utterance.text, text)
        score += 0.6 * min(1.0, differing / max(1, words))
        own = {act for act in meaning.said_acts(request.utterance.text) if act.startswith("asks ")}
        score += 0.3 * len(own.intersection(meaning.said_acts(text))) / max(1, len(own))
    return score - 2 * max(0.0, _FLUENT - likelihood)


def find_problem(request: Request, text: str, usage: Usage) -> str:
    """Why a text does not say the request's goal, or says more; empty if it passes."""
    goal, utterance = request.goal, request.utterance
    own = utterance.text if utterance is not None else ""
    folded, own_folded = fold(text), fold(own)
    tokens = _TOKEN.findall(folded)
    if not 0 < len(tokens) <= _LONGEST or any(letter > "\u024f" for letter in text):
        return "it is no utterance"
    if _ODD.search(folded) and not _ODD.search(own_folded):
        return "it is badly written"
    if stutters(tokens) and not stutters(_TOKEN.findall(own_folded)):
        return "words are repeated"
    if missing := find_unsaid(text, goal):
        return f"not said: {', '.join(missing)}"
    loose = request.keeps and bool(find_oversaid(own, goal))  # whose own words have more than the label
    if not loose and (extra := find_oversaid(text, goal)):
        return extra

    for slot, value in goal.spoken.items():
        form = fold(value)
        is_name = not flag_of(value) and not _NAMES.isdisjoint(name_words(slot)) and form not in own_folded
        if is_name and not re.search(rf"(?<!\w){re.escape(form)}(?!\w)", folded):
            return f"misspelt: {value}"
        if form.endswith("pm") and not re.search(r"\d ?p ?\.? ?m\b|evening|afternoon|night|\b(?:1[2-9]|2\d):", folded):
            return f"morning or evening is left open: {value}"
        if len(value) > 3 and folded.count(fold(value)) > max(1, own_folded.count(fold(value))):
            return f"said twice: {value}"

    # Outside of the goal's values no figure and no value of the ontology, but for those of the user's own turn.
    left, allowed = without_values(folded, goal, "|"), own_folded if request.keeps else ""
    numbers = number_words()
    figures, kept = (
        {*_FIGURE.findall(words), *(word for word in _TOKEN.findall(words) if word in numbers)}
        - {"1", "one", "a", "an"}
        for words in (left, allowed)
    )
    if figures - kept:
        return f"a number beyond the goal: {min(figures - kept)}"
    settled = {fold(form) for forms in (utterance.before if utterance else {}).values() for form in forms}
    left_runs, allowed_runs = (runs(_TOKEN.findall(words), _LONGEST_RUN) for words in (left, allowed))
    if foreign := usage.values.intersection(left_runs) - settled - {*allowed_runs}:
        return f"a value beyond the goal: {min(foreign)}"
    for context, slot in _contexts(pattern_of(text, goal.spoken)):
        slots = usage.contexts.get(context, {})
        if slots and slots.get(slot, 0) < _UNUSUAL * sum(slots.values()):
            return f"{slot} stands where other slots' values stand: {context}"

    acts, own_acts = {*meaning.said_acts(text)}, {*meaning.said_acts(own)}
    asks, own_asks = ({act for act in some if act.startswith("asks ")} for some in (acts, own_acts))
    if request.keeps:
        if asks != own_asks:
            return "a request came or went"
        if changed := {act for act in acts ^ own_acts if act in _ALWAYS_KEPT}:
            return f"an act came or went: {min(changed)}"
        if ("?" in text) != ("?" in own) and not own_asks and not goal.spoken:
            return "a question came or went"
        if {*_RELATION.findall(folded)} != {*_RELATION.findall(own_folded)}:
            return "a relation came or went"
        if bool(_TURNING.search(folded)) != bool(_TURNING.search(own_folded)):
            return "a negation came or went"
    else:
        if asks - own_asks:
            return f"a request beyond the goal: {min(asks - own_asks)}"
        due = set(_ONLY_IF_OWN) - ({"choose"} if DONTCARE in goal.spoken.values() else set())
        if beyond := (acts & due) - own_acts - ({"no"} if goal.may_decline or "no" in goal.spoken.values() else set()):
            return f"an act beyond the goal: {min(beyond)}"
        wanted = {flag_of(value) for value in goal.spoken.values()}
        if wanted.isdisjoint({"no", DONTCARE}) and _TURNING.search(re.sub(r"^no\b", "", folded)):
            return "a negation beyond the goal"
        if "yes" in acts - own_acts and "?" in request.system and not goal.unspoken:
            return "a yes that takes up an offer"

    if utterance is not None and (problem := _services_problem(request, text, own)):
        return problem
    if request.keeps and utterance is not None:
        words, kept_words = {*meaning.content_words(text, goal)}, {*meaning.content_words(own, goal)}
        stems, kept_stems = {_stem(word) for word in words}, {_stem(word) for word in kept_words}
        if len(kept_stems & stems) < _LOOSE * len(kept_stems):
            return f"words are lost: {', '.join(sorted(kept_words - words))}"
        if len(stems - kept_stems) > (1 + len(kept_stems) // 5 if goal.slots or asks else 2):
            return f"words were added: {', '.join(sorted(words - kept_words))}"
    return ""


def pattern_of(text: str, values: Mapping[str, str]) -> list[str]:
    """The tokens of a text with a placeholder for each value that stands there as it is, and for each figure."""
    folded = f" {fold(text)} "
    for slot, value in sorted(values.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        if not flag_of(value):
            folded = re.sub(rf"(?<!\w){re.escape(fold(value))}(?!\w)", f" [{slot}] ", folded, count=1)
    return [token if not token[0].isdigit() else "#" for token in _TOKEN.findall(folded)]


def _services_problem(request: Request, text: str, own: str) -> str:
    """A service that the words must name and do not, or name and must not."""
    assert request.utterance is not None  # noqa: S101  the caller has looked
    names, own_names = {*meaning.named_services(text)}, {*meaning.named_services(own)}
    due = {*meaning.names_due(request.utterance, request.goal)}
    if missing := (due & own_names if request.keeps else due) - names:
        return f"the service is not named: {min(missing)}"
    kinds = {meaning.kind_of_service(slot) for slot in (*request.goal.slots, *request.utterance.before)}
    if "" in kinds:  # services that have no words in the table
        return ""
    # A place to stay is where a taxi goes; only what nobody has spoken of leads elsewhere.
    if beyond := names - kinds - own_names - ({*meaning.named_services(request.system)} if request.keeps else set()):
        return f"another service is named: {min(beyond)}"
    if not request.keeps and (
        turned := names - {meaning.kind_of_service(slot) for slot in request.goal.slots} - own_names
    ):
        return f"another service is named: {min(turned)}"
    return ""


def _contexts(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """For each placeholder the words around it, two before or one on each side, and its slot's bare name."""
    padded = ["<", "<", *tokens, ">"]
    for at, token in enumerate(padded):
        if token.startswith("["):
            service, _, slot = token[1:-1].partition("-")
            yield f"{padded[at - 2]} {padded[at - 1]} _", slot
            yield f"{padded[at - 1]} _ {padded[at + 1]}", slot
            yield f"{service}: {padded[at - 1]} _", slot


def _grams(tokens: Sequence[str]) -> Iterable[str]:
    padded = ["<", *tokens, ">"]
    return (" ".join(padded[at : at + 4]) for at in range(max(1, len(padded) - 3)))


def _stem(word: str) -> str:
    return re.sub(r"(?:ing|ed|es|s|e|ation|al|y|ies)$", "", word)[:6]
