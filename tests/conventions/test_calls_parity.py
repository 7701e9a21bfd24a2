"""The convention `bfcl` gives the leaderboard's own verdict on all 29,760 published answers in the shared folder."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dstress import corpora
from dstress.conventions import conventions
from dstress.dialogue import Dialogue, Schema
from dstress.predictions import read_predictions
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import gather
from dstress.scoring.metrics.calls import judged_calls
from tests.paths import SHARED

GOLDEN = SHARED / "golden" / "bfcl"
CATEGORIES = {
    "simple": "simple",
    "multiple_function": "multiple",
    "parallel_function": "parallel",
    "parallel_multiple_function": "parallel_multiple",
    "relevance": "irrelevance",
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden outputs are not here"),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bfcl")
    with zipfile.ZipFile(GOLDEN / "answers.zip") as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def questions() -> dict[str, list[Dialogue]]:
    archive = GOLDEN / "questions.zip"
    return {category: list(corpora.load(f"{archive}:{split}")) for category, split in CATEGORIES.items()}


def verdicts(path: Path, dialogues: list[Dialogue], convention: str = "bfcl") -> Iterator[tuple[str, bool]]:
    """Dialogues by id, and whether each is right."""
    predictions = {prediction.dialogue: prediction for prediction in read_predictions(path)}
    paired = [(dialogue, [predictions[dialogue.id]]) for dialogue in dialogues]
    judged = judged_calls(Alignment(gather(Schema(), paired), conventions.create(convention)))
    for dialogue, right in zip(dialogues, judged[:, 1], strict=True):
        yield dialogue.id, bool(right)


def test_every_official_verdict(answers: Path, questions: dict[str, list[Dialogue]]) -> None:
    official = json.loads((GOLDEN / "verdicts.json").read_text(encoding="utf-8"))
    count = 0
    for model, categories in official.items():
        for category, expected in categories.items():
            judged = list(verdicts(answers / model / f"{category}.jsonl", questions[category]))
            # Of `relevance` the verdicts go by position.
            keys = [str(place) if category == "relevance" else name for place, (name, _) in enumerate(judged)]
            wrong = {key for key, (_, right) in zip(keys, judged, strict=True) if not right}
            assert wrong == expected["wrong"].keys(), (model, category)
            assert 1 - len(wrong) / len(judged) == pytest.approx(expected["accuracy"], abs=1e-9)
            count += len(judged)
    assert count == 29_760


def test_strict_parsing_only_takes_credit_away(answers: Path, questions: dict[str, list[Dialogue]]) -> None:
    """Only calls that could not be read lose the credit; a refusal in words keeps it."""
    path = answers / "NousResearch_Hermes-2-Pro-Mistral-7B" / "relevance.jsonl"
    official, strict = (dict(verdicts(path, questions["relevance"], name)) for name in ("bfcl", "bfcl(parse=strict)"))
    taken = [name for name in official if official[name] and not strict[name]]
    assert taken
    assert not [name for name in official if strict[name] and not official[name]]
    assert all("<tool_call>" in line for line in path.read_text().splitlines() if json.loads(line)["id"] in taken)
