"""What is written is found by its shape and read back: everything, or all that the format can hold."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dstress.dialogue import Span
from dstress.errors import PredictionError
from dstress.predictions import FramePrediction, Prediction, detect, read_predictions, write_predictions
from dstress.storage.sources import open_source
from dstress.text.slot_names import multiwoz_slots

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = st.text("abcdefgh 0123456789:'-&.é", min_size=1, max_size=12).map(lambda text: " ".join(text.split()) or "x")
slots = st.sampled_from(multiwoz_slots())
ids = st.lists(st.sampled_from(["MUL0003", "sng01862", "1_00000", "a-b", "dialogue é"]), unique=True, max_size=3)
spans = st.builds(Span, st.sampled_from(["area", "city"]), st.integers(0, 40), st.integers(0, 40))
tuples = st.lists(st.sampled_from(["area", "phone"]), max_size=2).map(tuple)
frames = st.builds(FramePrediction, st.just("hotel"), texts, tuples, st.none() | st.lists(spans, max_size=2).map(tuple))


def predictions(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[list[Prediction]]:
    """Whole dialogues with these fields at any value."""
    turn = st.builds(Prediction, st.just(""), st.just(0), **fields)

    @st.composite
    def draw(draw: Callable[[st.SearchStrategy[object]], object]) -> list[Prediction]:
        names = draw(ids)
        return [
            replace(prediction, dialogue=name, turn=number)
            for name in names
            for number, prediction in enumerate(draw(st.lists(turn, min_size=1, max_size=3)))
        ]

    return draw().filter(bool)


def states(values: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(slots, values, max_size=5)


def golds(values: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, tuple[str, ...]]]:
    return st.dictionaries(slots, values.map(lambda value: (value,)), max_size=5)


@contextmanager
def again(written: list[Prediction], format: str, file: str) -> Iterator[list[Prediction]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        write_predictions(written, path, format)
        with open_source(path) as source:
            assert detect(source).name == format
        yield list(read_predictions(path))


@given(
    predictions(
        state=states(texts),
        frames=st.lists(frames, max_size=1).map(tuple),
        intent=st.none() | texts,
        requested=st.none() | tuples,
        response=st.none() | texts,
        ood=st.none() | st.booleans(),
        gold=st.none() | st.dictionaries(slots, st.lists(texts, max_size=2).map(tuple), max_size=3),
        utterance=st.none() | texts,
        stateless=st.booleans(),
        domains=st.none() | tuples,
        informed=st.dictionaries(slots, st.integers(0, 9), max_size=2),
        listed=st.none() | tuples,
        emptied=tuples,
    )
)
def test_dstress_holds_everything(written: list[Prediction]) -> None:
    with again(written, "dstress", "p.jsonl") as read:
        assert read == written


@given(predictions(state=states(texts), gold=golds(texts)))
def test_trade_holds_states_and_one_form_of_gold(written: list[Prediction]) -> None:
    with again(written, "trade", "p.json") as read:
        assert read == written


# The layout parts speakers by <user> and <system>, so an utterance cannot hold these.
said = texts.map(str.strip).filter(lambda text: "<user>" not in text and "<system>" not in text)


@given(predictions(state=states(words), gold=st.none() | golds(words), utterance=said))
def test_checkdst_holds_states_of_plain_words_and_the_utterance(written: list[Prediction]) -> None:
    with again(written, "checkdst", "p.jsonl") as read:
        assert read == written


@given(predictions(state=states(texts), response=texts, domains=st.none() | tuples))
def test_mwzeval_holds_states_responses_and_domains_under_lower_case_ids(written: list[Prediction]) -> None:
    with again(written, "mwzeval", "p.json") as read:
        assert read == [replace(p, dialogue=p.dialogue.lower()) for p in written]


@given(predictions(state=st.just({}), response=texts, stateless=st.just(True)))
def test_mwzeval_holds_systems_without_states(written: list[Prediction]) -> None:
    with again(written, "mwzeval", "p.json") as read:
        assert all(p.stateless for p in read)


@given(predictions(state=states(texts), utterance=texts))
def test_sgd_holds_states_that_come_change_and_go(written: list[Prediction]) -> None:
    with again(written, "sgd", "dialogues_001.json") as read:
        assert [(p.dialogue, p.turn, p.state, p.utterance) for p in read] == [
            (p.dialogue, p.turn, p.state, p.utterance) for p in written
        ]


@given(
    predictions(
        state=st.dictionaries(st.sampled_from(["hotel-area", "hotel-city"]), texts),
        frames=frames.map(lambda frame: (replace(frame, intent=frame.intent or "NONE"),)),
        utterance=texts,
    )
)
def test_sgd_holds_whole_frames(written: list[Prediction]) -> None:
    with again(written, "sgd", "dialogues_001.json") as read:
        assert read == written


@given(predictions(state=states(texts.filter(bool))))
def test_csv_holds_states_without_empty_values(written: list[Prediction]) -> None:
    with again(written, "csv", "p.csv") as read:
        assert read == written


def test_csv_refuses_an_empty_value(tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match=r"dialogue d, turn 0: the empty value of the slot 'hotel-area'"):
        write_predictions([Prediction("d", 0, {"hotel-area": ""})], tmp_path / "p.csv", "csv")
    assert not list(tmp_path.iterdir())


def test_sgd_writes_a_folder_too(tmp_path: Path) -> None:
    write_predictions([Prediction("d", 0, {"hotel-area": "east"})], tmp_path / "preds", "sgd")
    assert [path.name for path in (tmp_path / "preds").iterdir()] == ["dialogues_001.json"]


@pytest.mark.parametrize("format", ["sgd", "mwzeval"])
def test_formats_that_count_by_order_refuse_gaps(tmp_path: Path, format: str) -> None:
    with pytest.raises(PredictionError, match="dialogue d"):
        write_predictions([Prediction("d", 1, {})], tmp_path / "p.json", format)
    assert not list(tmp_path.glob("*.json"))


def test_checkdst_refuses_a_value_that_it_would_break(tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match=r"turn 0.*holiday inn, cambridge.*hotel-name"):
        write_predictions([Prediction("d", 0, {"hotel-name": "holiday inn, cambridge"})], tmp_path / "p", "checkdst")
    assert not list(tmp_path.glob("p"))


def test_a_format_that_is_only_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match="'gca' can be read but not written"):
        write_predictions([], tmp_path / "p", "gca")
