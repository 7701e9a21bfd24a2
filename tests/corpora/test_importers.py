"""Every layout, small and ours: recognised by shape, from any container, with the labels that a person would read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dstress
from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.corpora.checks import read_checked
from dstress.dialogue import DONTCARE, Act, Coreference, Dialogue, Schema, Span
from dstress.errors import CorpusError, UnknownNameError
from dstress.pipeline.stress import stress
from dstress.pipeline.track import record_answer
from dstress.storage.sources import open_source
from dstress.stressors.base import TurnStressor
from dstress.text.utterance import Utterance
from dstress.trackers.base import Context
from tests.corpora import layouts


def imported(source: Path) -> dict[str, list[Dialogue]]:
    with open_source(source) as opened:
        return {split.name: list(read_checked(split)) for split in corpora.detect(opened).splits(opened)}


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_the_layout_is_recognised_by_shape(layout: str, tmp_path: Path) -> None:
    importer, write = layouts.LAYOUTS[layout]
    with open_source(write(tmp_path / "it")) as source:
        assert corpora.detect(source).name == importer
        matching = [name for name in corpora.importers.targets if corpora.importers.get(name).matches(source)]
    assert matching[0] == importer


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.xz"])
@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_any_container_gives_the_same_dialogues(layout: str, kind: str, tmp_path: Path) -> None:
    folder = layouts.LAYOUTS[layout][1](tmp_path / "it")
    assert imported(layouts.packed(folder, kind)) == imported(folder)


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_an_import_loads_back_as_it_was_read(layout: str, tmp_path: Path) -> None:
    folder = layouts.LAYOUTS[layout][1](tmp_path / "it")
    corpora.add("mine", folder)
    for split, dialogues in imported(folder).items():
        assert list(corpora.load(f"mine:{split}")) == dialogues


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_a_path_loads_without_import(layout: str, tmp_path: Path) -> None:
    folder = layouts.LAYOUTS[layout][1](tmp_path / "it")
    assert list(corpora.load(f"{folder}:test")) == imported(folder)["test"]


@pytest.mark.parametrize("layout", ["simple", "simple, chat messages"])
def test_values_as_people_write_them(layout: str, tmp_path: Path) -> None:
    """A list is wanted as a whole, a form is one of several; numbers are texts, and a silent turn keeps its state."""
    (dialogue,) = imported(layouts.LAYOUTS[layout][1](tmp_path / "it"))["test"]
    first, second, third = dialogue.turns
    assert first.state == {"task-toppings": ("mushrooms + olives",), "task-people": ("2",)}
    assert second.state == {
        "task-toppings": ("basil + mushrooms + olives", "mushrooms + olives + parsley"),
        "task-people": ("2",),
        "taxi-to": ("centre", "town centre"),
    }
    assert (third.user, third.system, third.state) == ("Thanks", "Done.", second.state)
    toppings = corpora.load(str(tmp_path / "it")).schema.slots["task-toppings"]
    assert toppings.values == ("mushrooms", "olives", "basil", "parsley")


def test_lines_of_our_own_layout_take_plain_values(tmp_path: Path) -> None:
    state = {
        "hotel-area": "north",
        "hotel-stars": 4,
        "hotel-type": ["inn", "pub"],
        "hotel-has": {"all": ["spa", "bar"]},
    }
    (tmp_path / "test.jsonl").write_text(json.dumps({"id": "d", "turns": [{"user": "an inn", "state": state}]}))
    (dialogue,) = imported(tmp_path)["test"]
    values = {
        "hotel-area": ("north",),
        "hotel-stars": ("4",),
        "hotel-type": ("inn", "pub"),
        "hotel-has": ("bar + spa",),
    }
    assert dialogue.turns[0].state == values


@pytest.mark.parametrize(
    ("turns", "problem"),
    [
        ([{"user": "hi", "state": {"a-b": {"any": "c"}}}], "dialogue d, turn 0: the value of 'a-b' cannot be read"),
        ([{"user": "hi", "state": ["c"]}], "dialogue d, turn 0: .* is no state"),
        ([{"user": "hi"}], "no turn has a state"),
    ],
)
def test_what_nobody_can_read_is_named(turns: list[object], problem: str, tmp_path: Path) -> None:
    (tmp_path / "test.json").write_text(json.dumps([{"id": "d", "turns": turns}]))
    with pytest.raises(CorpusError, match=problem):
        imported(tmp_path)


@pytest.mark.parametrize(
    ("toppings", "jga"),
    [
        (["mushrooms", "olives"], 1.0),
        (["olives", "mushrooms"], 1.0),
        ("olives + mushrooms", 1.0),
        (["olives"], 0.0),
        ("mushrooms", 0.0),
        (["olives", "mushrooms", "basil"], 0.0),
    ],
)
def test_several_values_are_right_together(toppings: object, jga: float, tmp_path: Path) -> None:
    layouts.simple(tmp_path / "it")
    one = dstress.load(str(tmp_path / "it:test"))
    shorter = Corpus("it", "test", one.schema, lambda: (dialogue.first(1) for dialogue in one))
    states = {"p1": [{"task-toppings": toppings, "task-people": 2}]}
    assert dstress.score(states, shorter, metrics=["jga"])["jga"].value == jga
    (tmp_path / "states.json").write_text(json.dumps(states))
    assert dstress.score(tmp_path / "states.json", shorter, metrics=["jga"])["jga"].value == jga


def test_a_tracker_may_answer_with_several_values(tmp_path: Path) -> None:
    (dialogue,) = imported(layouts.simple(tmp_path / "it"))["test"]
    context = Context(dialogue, 0, Schema())
    answer = record_answer(context, {"task-toppings": ["olives", "mushrooms"]})  # type: ignore[dict-item]
    assert answer.state == {"task-toppings": "mushrooms + olives"}


def test_stressors_leave_each_of_several_values(tmp_path: Path) -> None:
    layouts.simple(tmp_path / "it")
    for seed in range(5):
        turn = next(iter(stress(dstress.load(str(tmp_path / "it:test")), "typos(rate=0.9)", seed=seed))).turns[0]
        assert turn.user != turn.original.user and "olives" in turn.user and "mushrooms" in turn.user


def test_the_guard_misses_one_of_several_values(tmp_path: Path) -> None:
    """A rewriter that loses one of them is refused, although it keeps all that is one value."""

    class Shortened(TurnStressor):
        def rewrite_utterance(self, utterance: Utterance) -> str:
            return utterance.text.replace(" and mushrooms", "")

    layouts.simple(tmp_path / "it")
    (dialogue,) = stress(dstress.load(str(tmp_path / "it:test")), Shortened())
    assert dialogue.turns[0].user == dialogue.turns[0].original.user
    assert dialogue.turns[0].stress and dialogue.turns[0].stress.fallbacks == ("a value was no longer said",)


def test_raw_multiwoz_states_goal_and_acts(tmp_path: Path) -> None:
    (dialogue,) = imported(layouts.multiwoz_per_split(tmp_path))["test"]
    first, second, third = dialogue.turns
    assert first.state == {"hotel-pricerange": ("cheap",), "hotel-parking": ("yes",)}
    assert second.state["hotel-book people"] == ("2",) and second.system == layouts.SYSTEM[0]
    assert third.state["hotel-pricerange"] == ("cheap", "moderate") and third.state["hotel-parking"] == (DONTCARE,)
    assert first.frames[0].acts == (Act("INFORM", "pricerange", ("cheap",)), Act("INFORM", "parking", ("yes",)))
    assert first.frames[0].spans == (Span("pricerange", 9, 14),) and first.user[9:14] == "cheap"
    assert dialogue.goal is not None and dialogue.goal.fallback == {"hotel-book day": ("monday",)}
    assert dialogue.goal.request == ("hotel-phone",) and dialogue.goal.description == "Find a cheap hotel. Book it."


def test_list_files_part_one_data_file(tmp_path: Path) -> None:
    splits = imported(layouts.multiwoz_single(tmp_path))
    assert {name: [d.id for d in found] for name, found in splits.items()} == {
        "train": ["SNG0000", "SNG0001"], "dev": ["SNG0002"], "test": ["SNG0003"],
    }  # fmt: skip


def test_multiwoz_23_coreference_and_lists(tmp_path: Path) -> None:
    (dialogue,) = imported(layouts.multiwoz23(tmp_path))["test"]
    assert dialogue.turns[2].coreferences == (Coreference("hotel-book day", "same day", "tuesday", 1),)
    assert dialogue.turns[2].state["hotel-pricerange"] == ("cheap", "moderate")


def test_a_coreference_of_a_booking_finds_what_is_booked(tmp_path: Path) -> None:
    dialogue = layouts.raw_dialogue()
    dialogue["log"][4]["coreference"] = {"Booking-Inform": [["Day", "same day", "tuesday", 2, "4-5"]]}
    layouts.write_json(tmp_path / "test.json", {"SNG0003.json": dialogue})
    (found,) = imported(tmp_path)["test"]
    assert found.turns[2].coreferences == (Coreference("hotel-book day", "same day", "tuesday", 1),)


def test_two_copies_of_multiwoz_are_not_mixed(tmp_path: Path) -> None:
    layouts.multiwoz_single(tmp_path / "2.1")
    layouts.multiwoz_single(tmp_path / "2.3")
    with pytest.raises(CorpusError, match=r"several copies of the corpus: 2.1/data.json and 2.3/data.json"):
        imported(tmp_path)


def test_spokenwoz_splits_and_profile(tmp_path: Path) -> None:
    splits = imported(layouts.spokenwoz(tmp_path))
    assert {name: [d.id for d in found] for name, found in splits.items()} == {
        "train": ["MUL0001"], "dev": ["MUL0002"], "test": ["MUL0003"],
    }  # fmt: skip
    (dialogue,) = splits["test"]
    assert dialogue.turns[2].state["profile-name"] == ("Ada May",)
    assert dialogue.turns[0].state == {"hotel-pricerange": ("cheap",), "hotel-parking": ("yes",)}
    assert list(imported(tmp_path / "text_5700_test")) == ["test"]


def test_multiwoz_22_settles_names_and_joins_acts(tmp_path: Path) -> None:
    corpora.add("mwz22", layouts.multiwoz22(tmp_path / "it"))
    corpus: Corpus = corpora.load("mwz22:test")
    (dialogue,) = corpus
    assert list(corpus.schema.slots) == [
        "hotel-pricerange", "hotel-parking", "hotel-book day", "hotel-book people", "taxi-leaveat",
    ]  # fmt: skip
    assert dialogue.id == "SNG0003" and dialogue.turns[1].state["hotel-book day"] == ("tuesday",)
    assert dialogue.turns[2].state["hotel-pricerange"] == ("cheap", "inexpensive")
    assert dialogue.turns[0].frames[0].spans == (Span("pricerange", 9, 14),)
    assert dialogue.turns[0].frames[0].acts == (Act("INFORM", "pricerange", ("cheap",)),)
    assert [frame.service for frame in dialogue.turns[0].frames] == ["hotel", "taxi"]


def test_trade_labels(tmp_path: Path) -> None:
    (dialogue,) = imported(layouts.trade(tmp_path))["dev"]
    assert dialogue.turns[2].state == {
        "hotel-pricerange": ("cheap",), "hotel-book people": ("2",), "hotel-book day": (DONTCARE,),
    }  # fmt: skip
    assert dialogue.services == ("hotel",)


def test_woz_labels_and_acts(tmp_path: Path) -> None:
    (dialogue,) = imported(layouts.woz(tmp_path))["test"]
    first, second = dialogue.turns
    assert first.state == {"restaurant-price range": ("cheap",)}
    assert second.state == {"restaurant-price range": ("cheap",), "restaurant-area": (DONTCARE,)}
    assert second.system == "Where?" and second.user == "Any part of town. What is its phone number?"
    assert second.frames[0].requested == ("phone",)
    assert second.frames[0].acts == (Act("INFORM", "area", ("dontcare",)), Act("REQUEST", "phone"))
    assert second.system_frames[0].acts == (Act("REQUEST", "area"), Act("CONFIRM", "price range", ("cheap",)))


def test_a_woz_dialogue_that_was_not_translated_is_left_out(tmp_path: Path) -> None:
    dialogues = layouts.woz_dialogue("de", "de") + layouts.woz_dialogue("de", "de")
    dialogues[1]["dialogue_idx"] = 601
    dialogues[0]["dialogue"][0]["transcript"] = ""
    layouts.write_json(tmp_path / "woz_test_de.json", dialogues)
    assert [dialogue.id for dialogue in imported(tmp_path)["test"]] == ["601"]


def test_the_splits_of_several_languages_name_theirs(tmp_path: Path) -> None:
    corpora.add("woz", layouts.woz_translated(tmp_path / "it"))
    german = corpora.load("woz:test_de")
    assert german.language == "de" and german.train == "woz:train_de"
    assert next(iter(german)).turns[1].state["restaurant-gegend"] == (DONTCARE,)
    mixed = corpora.load("woz:test_de_en")
    assert mixed.language == "de" and mixed.train == "woz:train_de_en"
    assert list(mixed.schema.slots) == ["restaurant-price range", "restaurant-area"]
    assert corpora.load("woz:dev_en").language == "en" and corpora.load(f"{tmp_path / 'it'}:test_de").language == "de"
    with pytest.raises(UnknownNameError, match="unknown split of woz 'test'"):
        corpora.load("woz:test")


def test_m2m_spans_acts_and_both_services(tmp_path: Path) -> None:
    movie, restaurant = imported(layouts.m2m(tmp_path))["test"]
    assert movie.services == ("movies",) and restaurant.services == ("restaurant",)
    first, second = movie.turns
    assert first.state == {"movies-tickets": ("two",)} and first.system == ""
    assert second.state["movies-date"] == (DONTCARE,) and second.state["movies-theatre"] == ("the Rex",)
    assert second.frames[0].spans == (Span("theatre", 0, 7),) and second.user[0:7] == "the Rex"
    assert second.frames[0].intent == "BUY"
    assert second.system_frames[0].acts == (Act("REQUEST", "theatre"), Act("CONFIRM", "tickets", ("two",)))
    assert second.system_frames[0].requested == ("theatre",)
    assert set(corpora.load(str(tmp_path / "sim-M")).schema.by_name) == {"movies"}


def test_several_files_of_one_split_are_all_read(tmp_path: Path) -> None:
    layouts.trade(tmp_path / "a")
    dialogues = json.loads((tmp_path / "a" / "dev_dials.json").read_text())
    for dialogue in dialogues:
        dialogue["dialogue_idx"] = f"other-{dialogue['dialogue_idx']}"
    layouts.write_json(tmp_path / "b" / "dev_dials.json", dialogues)
    assert len(imported(tmp_path)["dev"]) == 2 * len(imported(tmp_path / "a")["dev"])


def test_taskmaster_states_come_from_segments(tmp_path: Path) -> None:
    splits = imported(layouts.taskmaster(tmp_path))
    assert {name: [d.id for d in found] for name, found in splits.items()} == {
        "train": ["dlg-1"], "dev": ["dlg-2"], "test": ["dlg-3"], "all": ["dlg-4"],
    }  # fmt: skip
    (dialogue,) = splits["test"]
    first, second = dialogue.turns
    assert first.user == "A large pizza, please with olives" and first.system == ""
    assert first.state == {"pizza_ordering-size.pizza": ("large",), "pizza_ordering-type.topping": ("olives",)}
    assert [first.user[span.start : span.end] for span in first.frames[0].spans] == ["large", "olives"]
    assert second.state == {"pizza_ordering-size.pizza": ("small",), "pizza_ordering-type.topping": ("ham",)}
    assert second.system == "No olives left, ham?"
    rejected, offered = second.system_frames[0].acts
    assert rejected == Act("REJECT", "type.topping", ("olives",)) and offered == Act("INFORM", "type.topping", ("ham",))


def test_taskmaster_3_names_the_service_once(tmp_path: Path) -> None:
    utterance = {
        "speaker": "user",
        "text": "Two for Joker",
        "segments": [layouts._segment("Two for Joker", "Joker", "name.movie")],
    }
    conversation = {"conversation_id": "dlg-1", "vertical": "Movie Tickets", "utterances": [utterance]}
    layouts.write_json(tmp_path / "data_00.json", [conversation])
    (dialogue,) = imported(tmp_path)["all"]
    assert dialogue.turns[0].state == {"movie_tickets-name.movie": ("Joker",)}


def test_crosswoz_takes_the_first_query_and_is_chinese(tmp_path: Path) -> None:
    corpora.add("crosswoz", layouts.crosswoz(tmp_path / "it"))
    corpus = corpora.load("crosswoz:test")
    (dialogue,) = corpus
    first, second = dialogue.turns
    assert corpus.language == "zh" and first.state == {"酒店-价格": ("便宜",)}
    assert second.state == {"酒店-价格": ("便宜",), "酒店-酒店设施": ("早餐服务 无烟房",)}
    assert second.system == "还有什么要求?" and second.system_frames == ()
    assert second.frames[0].requested == ("名称",)
    assert second.frames[0].acts[0] == Act("INFORM", "酒店设施-早餐服务", ("是",))
    with pytest.raises(CorpusError, match="crosswoz:test: typos is for en, and the utterances are in zh"):
        stress(corpus, "typos")


def test_a_crosswoz_turn_without_a_query_is_told(tmp_path: Path) -> None:
    dialogue = json.loads((layouts.crosswoz(tmp_path) / "test.json").read_text())
    del dialogue["test-1"]["messages"][3]
    layouts.write_json(tmp_path / "test.json", dialogue)
    with pytest.raises(CorpusError, match=r"test.json, dialogue test-1, turn 1: .* no state"):
        imported(tmp_path)


def test_bitod_constraints_as_values(tmp_path: Path) -> None:
    corpora.add("bitod", layouts.bitod(tmp_path / "it", ("en", "zh")))
    chinese, english = corpora.load("bitod:test_zh"), corpora.load("bitod:test_en")
    assert (chinese.language, english.language, chinese.train) == ("zh", "en", "bitod:train_zh")
    first, second, last = next(iter(english)).turns
    service = "restaurants_en_US_search"
    assert first.state == {f"{service}-price_level": ("cheap",)}
    assert second.state[f"{service}-rating"] == ("at_least 8",) and second.state[f"{service}-location"] == (DONTCARE,)
    assert second.system == "?" and second.system_frames[0].requested == ("rating",)
    assert last.frames == () and last.state == second.state
    assert next(iter(chinese)).turns[1].state["餐馆查询-rating"] == ("至少 8",)
    assert next(iter(chinese)).turns[1].state["餐馆查询-location"] == (DONTCARE,)


def test_sgd_carries_a_service_over_turns_without_its_frame(tmp_path: Path) -> None:
    (dialogue,) = imported(layouts.sgd(tmp_path))["test"]
    last = dialogue.turns[2]
    assert last.state["Hotels_1-day"] == ("tuesday", "the 3rd") and last.state["Taxis_1-to"] == ("the hotel",)
    assert [frame.service for frame in last.frames] == ["Taxis_1"]
    assert last.state_of("Hotels_1") == {"price": ("cheap",), "day": ("tuesday", "the 3rd")}
    assert dialogue.turns[0].frames[0].intent == "Search" and dialogue.turns[0].frames[0].requested == ("phone",)


def test_unified_hyphens_alternatives_and_silent_users(tmp_path: Path) -> None:
    (dialogue,) = imported(layouts.unified(tmp_path))["validation"]
    assert [turn.user for turn in dialogue.turns] == ["to Acton please", "Bank or Moorgate"]
    assert dialogue.turns[1].system == "From where? From where, please?"
    assert dialogue.turns[1].state == {"sub_way-to": ("Acton",), "sub_way-from": ("Bank", "Moorgate")}
    assert dialogue.goal is not None and dialogue.goal.request == ("sub_way-line",)


def test_a_unified_folder_with_its_data_packed_or_both(tmp_path: Path) -> None:
    plain = imported(layouts.unified(tmp_path / "plain"))
    folder = layouts.unified_packed(tmp_path / "it")
    assert imported(folder) == plain
    assert list(corpora.load(f"{folder}:test").schema.slots) == ["sub_way-to", "sub_way-from"]
    assert imported(layouts.unified(folder)) == plain


def test_a_sample_is_never_taken_for_the_data_set(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"data.zip is an archive inside an archive"):
        imported(layouts.packed(layouts.unified_packed(tmp_path / "it"), "zip"))


def test_two_unified_data_sets_are_told_apart(tmp_path: Path) -> None:
    layouts.unified_packed(tmp_path / "tube")
    layouts.unified_packed(tmp_path / "tram")
    with pytest.raises(CorpusError, match=r"2 data sets lie here \(tram/data.zip/data, tube/data.zip/data\)"):
        imported(tmp_path)


def test_dstress_jsonl_without_a_schema_derives_one(tmp_path: Path) -> None:
    folder = layouts.dstress(tmp_path / "it")
    (folder / "schema.json").unlink()
    assert list(corpora.load(f"{folder}:train").schema.slots) == ["hotel-pricerange"]


@pytest.mark.parametrize(
    ("words", "language"),
    [("一家便宜的酒店", "zh"), ("安いホテル", "ja"), ("싼 호텔", "ko"), ("un hôtel bon marché", "en")],
)
def test_letters_tell_the_language(words: str, language: str, tmp_path: Path) -> None:
    turn = {"speaker": "user", "utterance": words, "state": {}}
    dialogue = {"dataset": "x", "data_split": "test", "dialogue_id": "x-test-0", "turns": [turn]}
    layouts.write_json(tmp_path / "unified" / "dialogues.json", [dialogue])
    (tmp_path / "test.jsonl").write_text(json.dumps({"id": "d", "turns": [{"user": words}]}))
    assert corpora.load(str(tmp_path / "unified")).language == language
    assert corpora.load(str(tmp_path / "test.jsonl")).language == language


def test_a_corpus_inside_a_larger_archive(tmp_path: Path) -> None:
    layouts.multiwoz22(tmp_path / "repo" / "data" / "MultiWOZ_2.2")
    layouts.multiwoz_per_split(tmp_path / "repo" / "other")
    archive = layouts.packed(tmp_path / "repo", "zip")
    (entry,) = corpora.add("mine", archive, within="data/MultiWOZ_2.2/")
    assert {split: found.layout for split, found in entry.splits.items()} == {"test": "multiwoz22"}
