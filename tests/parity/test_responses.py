"""Inform, success, BLEU and richness in parity with mwzeval, dialogue by dialogue, on the golden systems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dstress
from dstress.corpora.base import Corpus
from dstress.predictions import read_predictions
from dstress.scoring.alignment.columns import Columns, Vocabulary
from dstress.scoring.alignment.pairing import Pairing
from dstress.scoring.metrics.task_success import outcomes
from dstress.scoring.responses import DomainSource, Responses
from dstress.scoring.score import ScoringOptions, score
from tests.parity.official import load

SYSTEMS = ["ubar", "damd", "lava", "soloist"]
PARTIAL = {"damd"}
"""Systems that leave a dialogue out."""


@pytest.fixture(scope="module")
def corpus(shared: Path) -> Corpus:
    """Read in place: nothing that an import leaves behind is needed."""
    return dstress.load(f"{shared}/data/multiwoz21-raw:test")


def columns_of(file: Path, corpus: Corpus, domains: DomainSource = "") -> Columns:
    predictions = Responses(corpus, domains, False).watch(read_predictions(file, schema=corpus.schema))
    columns = Columns(Vocabulary(corpus.schema, lambda: corpus.database))
    for dialogue, answers in Pairing(corpus, predictions, corpus.schema):
        columns.add(dialogue, answers)
    return columns.finish()


@pytest.mark.parametrize("system", ["ubar", "damd", "lava"])
def test_every_dialogue_is_judged_as_the_script_judges_it(shared: Path, corpus: Corpus, system: str) -> None:
    golden = shared / "golden/mwzeval"
    columns = columns_of(golden / f"predictions/{system}.json", corpus)
    found = {dialogue.lower(): list(one) for dialogue, one in zip(columns.dialogues, outcomes(columns), strict=True)}
    official = load(golden / "per_dialogue.json")[system]
    for judged in (judged for both in official.values() for judged in both):
        judged.pop("total", None)
    assert found == official


@pytest.mark.parametrize("system", SYSTEMS)
def test_rates_bleu_and_richness_are_those_of_the_script(shared: Path, corpus: Corpus, system: str) -> None:
    golden = shared / "golden/mwzeval"
    official = load(golden / "official.json")[system]
    bleu = f"bleu(references={golden / 'references_mwz21_approx.json'})"
    options = ScoringOptions(resamples=2, allow_partial=system in PARTIAL)
    file = golden / f"predictions/{system}.json"
    card = score(file, corpus, metrics=["inform", "success", "richness", bleu], by=["service"], options=options)
    rates = {"total": {name: card[name].value for name in ("inform", "success")}, **card.by("service")}
    for metric in ("inform", "success"):
        found = {key: values[metric] for key, values in rates.items() if values[metric] is not None}
        assert {key: round(value, 1) for key, value in found.items()} == official[metric]
    assert card.richness == pytest.approx(official["richness"], abs=1e-9)
    assert card["richness"].value == pytest.approx(official["richness"]["avg_lengths"], abs=1e-9)
    expected = load(golden / "bleu_approx.json")[system]["bleu_vs_approx_mwz21_refs"]
    assert card[bleu].value == pytest.approx(expected, abs=1e-6)


def test_where_domains_come_from_moves_the_scores_as_it_does_in_the_script(shared: Path, corpus: Corpus) -> None:
    golden = shared / "golden/mwzeval"
    official = load(golden / "official_active_domain_variants.json")["soloist:slot"]
    file, names = golden / "predictions/soloist.json", ["inform", "success"]
    options = ScoringOptions(resamples=2, domains="placeholders")
    card = score(file, corpus, metrics=names, by=["service"], options=options)
    rates = {"total": {name: card[name].value for name in names}, **card.by("service")}
    for metric in names:
        found = {key: values[metric] for key, values in rates.items() if values[metric] is not None}
        assert {key: round(value, 1) for key, value in found.items()} == official[metric]
    assert card.signature["domains"] == "placeholders"


def test_combined_is_made_of_the_other_three(shared: Path, corpus: Corpus) -> None:
    names = ["inform", "success", "bleu", "combined"]
    card = score(shared / "golden/mwzeval/predictions/ubar.json", corpus, metrics=names, resamples=2)
    inform, success, bleu, combined = (card[name].value for name in names)
    assert combined == pytest.approx((inform + success) / 2 + bleu, abs=1e-9)
    assert card.signature["domains"] == "states"


def test_bookings_are_those_of_the_script(shared: Path, corpus: Corpus) -> None:
    golden = shared / "golden/mwzeval"
    booked = load(golden / "booked_domains_test.json")
    for dialogue in corpus:
        assert [set(turn.booked) for turn in dialogue.turns] == [set(turn) for turn in booked[dialogue.id.lower()]]


def test_the_corpus_own_references_are_nearly_those_of_the_goldens(shared: Path, corpus: Corpus) -> None:
    from dstress.scoring.metrics.bleu import delexicalised_by_spans, unified
    from dstress.text.placeholders import Placeholders

    golden = json.loads((shared / "golden/mwzeval/references_mwz21_approx.json").read_text())
    placeholders, equal, turns = Placeholders(corpus.schema), 0, 0
    for dialogue in corpus:
        own = [unified(text, placeholders) for text in delexicalised_by_spans(dialogue)]
        equal += sum(one == other for one, other in zip(own, golden[dialogue.id.lower()], strict=True))
        turns += len(own)
    assert turns == 7372 and equal >= 7360, equal
