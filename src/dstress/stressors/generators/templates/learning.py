"""From a training corpus to what the generator needs: library, tagger of system acts, the ways to say values.

Selected utterances are templates themselves, and are cut into sentences and phrases. How good a wording is as a
template is how usual it is in the training corpus (`Fluency`), and after which system turns it is said (`ActFit`). Both
models are needed only while learning; a template keeps the numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from math import exp, log
from typing import NamedTuple

from dstress.dialogue import Dialogue, State, service_of, update
from dstress.stressors.generators.goals import flag_of
from dstress.stressors.generators.templates.delexical import Delexicalised, SurfaceForm, delexicalise
from dstress.stressors.generators.templates.library import Key, Library, Template, Tokens, is_fragment
from dstress.stressors.generators.templates.selection import Selector, Vocabulary, flag_words
from dstress.stressors.generators.templates.system_acts import ACT_KINDS, ActTagger
from dstress.stressors.generators.templates.tokens import (
    ENDS,
    bare_name,
    element_for,
    element_in,
    elements_of,
    has_word,
    is_flag_mark,
    is_placeholder,
    sentences_of,
    slot_of,
    words,
)
from dstress.text.mentions import find_mentions

_KEPT = 80  # templates of one key, at most
_KEPT_PARTS = 24
_WORST_PART = -3.4  # pieces that score less are left out; the scores of a small corpus are lower
_LARGE, _SMALL = 5_000, 500
_COUNT = 0.3  # what it counts that a wording is said often
_LONGEST_PHRASE = 9

_TRIGRAM, _BIGRAM, _UNIGRAM = 0.6, 0.3, 0.1
_LEAST = 0.15
_SKIPPED = frozenset('.,?!;"')
_PRIOR = 3.0
_DAMPING = 0.5


class Learned(NamedTuple):
    """What a training corpus teaches."""

    library: Library
    tagger: ActTagger
    surfaces: tuple[SurfaceForm, ...]
    flag_words: dict[str, frozenset[str]]
    """The words that speak of a flag's slot: "parking", "area"."""
    vocabulary: Vocabulary


class _Turn(NamedTuple):
    """A system turn, the service that was spoken of before, the user's answer and the elements that it says."""

    system: str
    service: str
    utterance: Delexicalised
    elements: list[str]


class _Clean(NamedTuple):
    """A clean utterance of the training corpus, the kind of system turn before it, the slots taken up with it."""

    tokens: Tokens
    kind: str
    taken: tuple[str, ...]


def learn(dialogues: Iterable[Dialogue]) -> Learned:
    """Learn from every user turn that adds to the state; the others only show how people write."""
    turns, flag_phrases = list[_Turn](), list[tuple[str, str]]()
    for dialogue in dialogues:
        before, service = State(), ""
        for turn in dialogue.turns:
            utterance = delexicalise(turn, before)
            turns.append(_Turn(turn.system, service, utterance, elements_of(utterance.tokens)))
            if any(map(is_flag_mark, utterance.tokens)):
                flag_phrases += [
                    (turn.user[start:end], element_for(slot, turn.state[slot][0]))
                    for slot, _, start, end in find_mentions(turn, before)
                    if flag_of(turn.state[slot][0])
                ]
            service = next((service_of(slot) for slot in update(before, turn.state)), service)
            before = turn.state
    tagger = ActTagger.learn((turn.system, list(map(slot_of, turn.elements)), turn.service) for turn in turns)
    telling = [turn for turn in turns if turn.elements]
    kinds = [tagger.tag(turn.system).kind_toward(turn.elements) for turn in telling]
    selector = Selector([turn.utterance for turn in turns], flag_phrases)
    clean = [
        _Clean(tokens, kind, turn.utterance.taken)
        for turn, kind in zip(telling, kinds, strict=True)
        if (tokens := selector.select(turn.utterance))
    ]
    fluency = Fluency(turn.utterance.tokens for turn in turns)
    fit = ActFit((turn.utterance.tokens, kind) for turn, kind in zip(telling, kinds, strict=True))
    return Learned(
        _extract(clean, fluency, fit, selector.vocabulary.introducing),
        tagger,
        tuple(form for turn in telling if not turn.utterance.unexplained for form in turn.utterance.surfaces),
        flag_words([turn.utterance.tokens for turn in telling], selector.vocabulary.owners),
        selector.vocabulary,
    )


def _extract(utterances: Sequence[_Clean], fluency: Fluency, fit: ActFit, introducing: Mapping[str, str]) -> Library:
    """All templates that utterances give. `introducing` are the words by which services are first spoken of."""

    def base(tokens: Tokens, number: int) -> float:
        """How usual tokens are that were said so often."""
        return round(fluency.score(tokens) + _COUNT * log(number), 3)

    kinds: dict[Tokens, Counter[str]] = defaultdict(Counter)
    taken: dict[Tokens, Counter[frozenset[str]]] = defaultdict(Counter)
    for utterance in utterances:
        kinds[utterance.tokens][utterance.kind] += 1
        taken[utterance.tokens][frozenset(utterance.taken)] += 1
    wholes: dict[Key, list[Template]] = defaultdict(list)
    for tokens, counts in kinds.items():
        mostly_taken = max(taken[tokens].items(), key=lambda item: (item[1], sorted(item[0])))[0]
        template = Template(tokens, base(tokens, counts.total()), fit.scores(tokens, counts), mostly_taken)
        wholes[frozenset(elements_of(tokens))].append(template)

    phrases, head_kinds = _cut_requests(utterances)
    heads: dict[str, list[Template]] = defaultdict(list)
    for (service, tokens), counts in head_kinds.items():
        if counts.total() > 1 and not introducing.keys().isdisjoint(tokens):
            heads[service].append(Template(tokens, base(tokens, counts.total()), fit.scores(tokens, counts)))

    worst = _WORST_PART if len(utterances) > _LARGE else 2 * _WORST_PART

    def best_by_key(pieces: Mapping[Tokens, tuple[int, Sequence[str]]]) -> dict[Key, tuple[Template, ...]]:
        """The best of sentences or phrases, which come with how often they were said and mostly after which tokens."""
        by_key: dict[Key, list[Template]] = defaultdict(list)
        for tokens, (number, after) in pieces.items():
            template = Template(tokens, base(tokens, number), after=frozenset(after))
            if template.base > worst:
                by_key[frozenset(elements_of(tokens))].append(template)
        return {
            key: tuple(sorted(templates, key=lambda template: (-template.base, template.tokens))[:_KEPT_PARTS])
            for key, templates in by_key.items()
        }

    often = 1 + (len(utterances) > _SMALL) + (len(utterances) > _LARGE)
    return Library(
        {key: _choose_varied(templates) for key, templates in wholes.items()},
        best_by_key({sentence: (number, ()) for sentence, number in _count_further_sentences(utterances).items()}),
        best_by_key(
            {
                phrase: (number, [token for token, times in before.items() if times >= often])
                for phrase, before in phrases.items()
                if (number := before.total()) >= often
            }
        ),
        {service: _choose_varied(templates)[:_KEPT] for service, templates in heads.items()},
        _mean_places(utterances),
    )


def _choose_varied(templates: list[Template]) -> tuple[Template, ...]:
    """The most usual ones, and for each kind of system turn those that fit it best."""
    ranked = sorted(templates, key=lambda template: (-template.base, template.tokens))
    chosen = dict.fromkeys(ranked[: _KEPT // 3])
    for at in range(len(ACT_KINDS)):
        best = sorted(ranked, key=lambda template: (-template.base - template.fits[at], template.tokens))
        chosen.update(dict.fromkeys(best[: _KEPT // len(ACT_KINDS)]))
    return tuple(chosen)


def _count_further_sentences(utterances: Iterable[_Clean]) -> Counter[Tokens]:
    """Sentences that were said after another about the same service."""
    counts: Counter[Tokens] = Counter()
    for utterance in utterances:
        if len({service_of(element) for element in elements_of(utterance.tokens)}) != 1:
            continue
        sentences = sentences_of(utterance.tokens)
        for at, sentence in enumerate(sentences[1:], start=1):
            if not elements_of(sentence) or sentence[0] in words("joining.restarts") or is_fragment(sentence):
                continue
            goes_on = any(map(elements_of, sentences[:at])) or has_word(sentence, "joining.pointing")
            if goes_on and not has_word(sentence, "joining.anew"):
                counts[sentence] += 1
    return counts


def _cut_requests(
    utterances: Iterable[_Clean],
) -> tuple[dict[Tokens, Counter[str]], dict[tuple[str, Tokens], Counter[str]]]:
    """Requests cut in two: phrases at the end, with the tokens before them; heads without a slot, with their kinds."""
    phrases, heads = defaultdict[Tokens, Counter[str]](Counter), defaultdict[tuple[str, Tokens], Counter[str]](Counter)
    for utterance in utterances:
        sentences = sentences_of(utterance.tokens)
        for sentence in sentences:
            body = sentence[:-1] if sentence[-1] in ENDS else sentence
            for at in range(3, len(body)):
                if not has_word(body[:at], "joining.requests") or not _can_be_added(body[at:]):
                    continue
                phrases[body[at:]][body[at - 1]] += 1
                if not elements_of(body[:at]) and len(sentences) == 1:
                    service = service_of(elements_of(body[at:])[0])
                    heads[service, (*body[:at], *sentence[len(body) :])][utterance.kind] += 1
    return phrases, heads


def _can_be_added(phrase: Sequence[str]) -> bool:
    """Whether a phrase is one: "for [people] people", "in the [area]"; not "for a place to stay in the [area]"."""
    plain = [token for token in phrase if not is_flag_mark(token)]
    if plain[0] not in words("joining.starts") or not elements_of(phrase) or len(plain) > _LONGEST_PHRASE:
        return False
    if has_word(plain, "joining.never"):
        return False
    names = any(element.endswith("-name") for element in elements_of(phrase))
    if names and plain[0] not in words("joining.naming"):
        return False
    lead = [*takewhile(lambda token: not (is_placeholder(token) or is_flag_mark(token)), phrase)][1:]
    starts = sum(token in words("joining.starts") for token in lead)
    return starts <= (plain[0] in words("joining.moving")) and words("joining.inside").issuperset(lead)


def _mean_places(utterances: Iterable[_Clean]) -> dict[str, float]:
    """Where in utterances elements are said, from 0 to 1."""
    sums, counts = defaultdict[str, float](float), Counter[str]()
    for elements in (elements_of(utterance.tokens) for utterance in utterances):
        if len(elements) > 1:
            counts.update(elements)
            for at, element in enumerate(elements):
                sums[element] += at / (len(elements) - 1)
    return {element: sums[element] / counts[element] for element in counts}


class Fluency:
    """A trigram model over delexicalised utterances, to keep odd spelling and odd grammar out of the templates.

    Punctuation does not count, for people leave it out.
    """

    def __init__(self, utterances: Iterable[Sequence[str]]) -> None:
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._total = 0
        for padded in map(_pad, utterances):
            self._total += len(padded)
            for first, second, third in zip(padded, padded[1:], padded[2:], strict=False):
                grams = (first, second, third), (second, third), (third,), (first, second, ""), (second, "")
                self._counts.update(grams)

    def score(self, utterance: Sequence[str]) -> float:
        """The mean log-probability of a token, and a share of that of the least likely one: a chain breaks there."""
        counts, padded = self._counts, _pad(utterance)
        steps = []
        for first, second, third in zip(padded, padded[1:], padded[2:], strict=False):
            trigrams, pairs = counts[first, second, third], counts[first, second, ""]
            bigrams, singles = counts[second, third], counts[second, ""]
            probability = (
                (_TRIGRAM * trigrams / pairs if pairs else 0)
                + (_BIGRAM * bigrams / singles if singles else 0)
                + _UNIGRAM * (counts[third,] + 1) / (self._total + 1)
            )
            steps.append(log(probability))
        return sum(steps) / len(steps) + _LEAST * min(steps)


def _pad(tokens: Sequence[str]) -> list[str]:
    """The tokens that count, between marks of the start and the end. Placeholders stand by the bare names of their
    slots, so that services that are alike learn from each other."""
    abstracted = [
        f"[{bare_name(element_in(token))}]" if is_placeholder(token) else token
        for token in tokens
        if token not in _SKIPPED and not is_flag_mark(token)
    ]
    return ["<", "<", *abstracted, ">"]


class ActFit:
    """Which kind of system turn an utterance follows on, by its words (naive Bayes)."""

    def __init__(self, answers: Iterable[tuple[Sequence[str], str]]) -> None:
        """Learn from the tokens of utterances and the kind of system turn that each answers."""
        self._kinds, self._all = Counter[str](), Counter[str]()
        self._by_kind = {kind: Counter[str]() for kind in ACT_KINDS}
        for tokens, kind in answers:
            features = _features(tokens)
            self._kinds[kind] += 1
            self._by_kind[kind].update(features)
            self._all.update(features)
        self._total = sum(self._kinds.values())
        self._shares = {kind: (self._kinds[kind] + 1) / (self._total + len(ACT_KINDS)) for kind in ACT_KINDS}

    def scores(self, tokens: Sequence[str], kinds: Mapping[str, int]) -> tuple[float, ...]:
        """For each kind, how much more likely it is with these words, which so often answered each of `kinds`."""
        features = _features(tokens)
        logs = {}
        for kind, share in self._shares.items():
            counts, number = self._by_kind[kind], self._kinds[kind] + 1
            steps = [
                log((counts[feature] + 0.5) / number * self._total / (self._all[feature] + 0.5 / share))
                for feature in features
            ]
            logs[kind] = log(share) + _DAMPING * sum(steps)
        top = max(logs.values())
        odds = {kind: exp(score - top) for kind, score in logs.items()}
        total, number = sum(odds.values()), sum(kinds.values())
        expected = {kind: (kinds.get(kind, 0) + _PRIOR * (odds[kind] / total)) / (number + _PRIOR) for kind in odds}
        return tuple(round(log(expected[kind] / self._shares[kind] + 0.01), 3) for kind in ACT_KINDS)


def _features(tokens: Sequence[str]) -> list[str]:
    """The words, the first two once more in their places, and whether there is no verb."""
    plain = ["[]" if is_placeholder(token) else token for token in tokens if not is_flag_mark(token)]
    features = {*plain, f"1 {plain[0]}", f"2 {' '.join(plain[:2])}"} - {".", "?", "!"}
    if is_fragment(plain):
        features.add("<bare>")
    return sorted(features)
