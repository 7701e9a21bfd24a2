"""The finer points of each layout, as its official code has them."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.corpora import Corpus, load
from dstress.dialogue import Schema, Service, Slot
from dstress.errors import PredictionError
from dstress.predictions import Prediction, read_predictions
from dstress.predictions.plain import read_plain
from dstress.scoring.score import ScoringOptions, score
from tests.parts import need


def read(tmp_path: Path, data: object, **options: object) -> list[Prediction]:
    path = tmp_path / "p.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return list(read_predictions(path, **options))  # type: ignore[arg-type]


def trippy(turn: int, kind: int, value: str, gold: str = "none", slot: str = "hotel-name") -> dict[str, object]:
    return {
        "guid": ["test", "MUL0003.json", str(turn)],
        f"class_prediction_{slot}": kind,
        f"class_label_id_{slot}": 0,
        f"input_ids_{slot}": [101, 102],
        f"slot_prediction_{slot}": value,
        f"slot_groundtruth_{slot}": gold,
    }


COLUMNS = ("conversation_no", "position", "answer")
ROWS = [("d1", 0, {"hotel-area": "north"}), ("d1", 1, {"hotel-area": "north", "hotel-stars": "4"})]
RECORDS = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
MAP = "dialogue=conversation_no, turn=position, state=answer"


def table(rows: list[tuple[str, int, dict[str, str]]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([COLUMNS, *((name, turn, json.dumps(state)) for name, turn, state in rows)])
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data", ["\n".join(map(json.dumps, RECORDS)), RECORDS, {"model": "mine", "data": RECORDS}, table(ROWS)]
)
def test_columns_of_any_name(tmp_path: Path, data: object) -> None:
    """A file of any container, whose columns a person names; without, the error says how."""
    predictions = read(tmp_path, data, format=f"flat({MAP})")
    assert [(p.dialogue, p.turn, p.state) for p in predictions] == ROWS
    with pytest.raises(PredictionError, match=r"needs a dialogue column; found conversation_no(.|\n)*--map dialogue="):
        read(tmp_path, data)
    with pytest.raises(PredictionError, match="needs a turn column called 'index'"):
        read(tmp_path, data, format="flat(dialogue=conversation_no, turn=index)")


def test_map_is_the_formats_columns(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps({"data": RECORDS}))
    arguments = [str(tmp_path / "p.json"), "--map", MAP, "--to", "dstress", "--out", str(tmp_path / "out.jsonl")]
    CliRunner().invoke(cli, ["convert", *arguments], catch_exceptions=False, standalone_mode=False)
    assert [(p.dialogue, p.turn, p.state) for p in read_predictions(tmp_path / "out.jsonl")] == ROWS


@pytest.mark.parametrize("wrapper", [{}, {"model": "mine", "scores": {"jga": 0.5}}])
@pytest.mark.parametrize("form", ["list", "numbered", "records"])
def test_states_under_a_key_beside_notes(tmp_path: Path, wrapper: dict[str, Any], form: str) -> None:
    turns = {
        "list": [state for _, _, state in ROWS],
        "numbered": {str(turn): state for _, turn, state in ROWS},
        "records": [{"turn": turn, "state": state} for _, turn, state in ROWS],
    }
    predictions = read(tmp_path, wrapper | {"predictions": {"d1": turns[form], "d2": turns[form]}})
    assert [(p.dialogue, p.turn, p.state) for p in predictions][:2] == ROWS


def test_frames_and_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([{"dialogue_id": d, "turn_id": turn, "state": state} for d, turn, state in ROWS])
    values = [{"dialogue": d, "turn": turn, "slot": s, "value": v} for d, turn, state in ROWS for s, v in state.items()]
    wide = pandas.DataFrame([{"dialogue": d, "turn": turn} | state for d, turn, state in ROWS])
    for each in (frame, pandas.DataFrame(values), wide):
        assert [(p.dialogue, p.turn, p.state) for p in read_plain(each, "frame")] == ROWS
    assert score(frame, frame, metrics=["jga"])["jga"].value == 1
    # Without pyarrow, by which pandas reads Parquet; the test below has real files.
    monkeypatch.setattr(
        pandas, "read_parquet", lambda file: pandas.DataFrame(RECORDS) if file.read(4) == b"PAR1" else None
    )
    assert [(p.dialogue, p.turn, p.state) for p in read(tmp_path, "PAR1...", format=f"csv({MAP})")] == ROWS


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["states", "texts", "long", "wide"])
def test_real_parquet_is_scored_as_the_same_rows_from_python(tmp_path: Path, layout: str) -> None:
    """Parquet fills each row's state with every slot of the file, and numbers beside a gap become floats."""
    need("pyarrow")
    pandas = pytest.importorskip("pandas")
    corpus = Corpus("reminder", "test", load("reminder:test").schema, lambda: islice(load("reminder:test"), 5))
    states = [(d.id, n, {s: v[0] for s, v in t.state.items()}) for d in corpus for n, t in enumerate(d.turns)]
    states[3] = (*states[3][:2], {})
    rows = {
        "states": [{"dialogue": d, "turn": n, "state": state} for d, n, state in states],
        "texts": [{"dialogue": d, "turn": n, "state": json.dumps(state)} for d, n, state in states],
        "long": [
            {"dialogue": d, "turn": n, "slot": s, "value": v} for d, n, t in states for s, v in (t or {"": ""}).items()
        ],
        "wide": [
            {"dialogue": d, "turn": n} | {s: int(v) if v.isdigit() else v for s, v in t.items()} for d, n, t in states
        ],
    }
    path = tmp_path / "p.parquet"
    pandas.DataFrame(rows[layout]).to_parquet(path)
    assert [(p.dialogue, p.turn, p.state) for p in read_predictions(path, schema=corpus.schema)] == states
    direct = [Prediction(*row) for row in states]
    card = score(path, corpus, metrics=["jga", "slot-f1"])
    assert card["jga"].value == score(direct, corpus, metrics=["jga"])["jga"].value < 1
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(PredictionError, match="no whole Parquet file"):
        list(read_predictions(path))


FLAT = {"d1": [{}, {"hotel-area": "north", "hotel-stars": 4}], "d2": [{"taxi-day": "monday"}]}
NUMBERED = {name: {str(turn): state for turn, state in enumerate(turns)} for name, turns in FLAT.items()}


@pytest.mark.parametrize(
    "data",
    [FLAT, NUMBERED, {"predictions": FLAT}, {"predictions": NUMBERED}],
)
def test_bare_states_are_read_from_files_as_from_python(tmp_path: Path, data: dict[str, Any]) -> None:
    found = read(tmp_path, data)
    assert found == list(read_plain(data, "p"))
    assert [p.state for p in found] == [{}, {"hotel-area": "north", "hotel-stars": "4"}, {"taxi-day": "monday"}]
    assert [p.turn for p in found] == [0, 1, 0]


@pytest.mark.parametrize("data", [{"d1": FLAT["d1"]}, {"d1": NUMBERED["d1"]}])
def test_a_single_dialogue_is_no_wrapper(tmp_path: Path, data: dict[str, Any]) -> None:
    assert [(p.dialogue, p.turn) for p in read(tmp_path, data)] == [("d1", 0), ("d1", 1)]


def test_trippy_replays_the_state_as_its_script_does(tmp_path: Path) -> None:
    turns = [
        trippy(0, 2, "acorn", "acorn"),
        trippy(1, 5, "none"),  # refers to a slot that has no value: nothing changes, whatever the file says later
        trippy(2, 0, "none"),
        trippy(3, 6, "§§ the cow", "the cow"),
        trippy(4, 1, "dontcare"),
        trippy(5, 2, "none"),
    ]
    found = read(tmp_path, turns)
    assert [p.state.get("hotel-name") for p in found] == ["acorn", "acorn", "acorn", "the cow", "dontcare", None]
    assert [p.informed for p in found] == [{}, {}, {}, {"hotel-name": 3}, {}, {}]
    assert [p.turn for p in found] == list(range(6))
    assert found[0].gold == {"hotel-name": ("acorn",)}
    assert found[1].gold == {}


def test_trippy_values_are_settled_when_they_are_taken_over(tmp_path: Path) -> None:
    """The script replaces an informed value with gold at once, never later, and keeps it; a copied one is as it is."""
    path = tmp_path / "p.json"
    turns = [
        trippy(0, 6, "§§ acorn", "none"),
        trippy(1, 0, "none", "the acorn rooms"),  # gold was silent then: `acorn` stays, and is wrong
        trippy(2, 6, "§§ acorn", "the acorn rooms"),
        trippy(3, 0, "none", "the acorn rooms"),
        trippy(4, 2, "acorn", "the acorn rooms"),
        trippy(5, 5, "acorn", "the acorn rooms"),
    ]
    path.write_text(json.dumps(turns), encoding="utf-8")
    card = score(path, metrics="jga", by=["turn"], options=ScoringOptions(resamples=2))
    assert [values["jga"] for values in card.by("turn").values()] == [0, 0, 1, 1, 0, 0]


def test_trippy_starts_anew_with_every_dialogue(tmp_path: Path) -> None:
    second = trippy(0, 0, "none") | {"guid": "test-SNG0073.json-0"}
    found = read(tmp_path, [trippy(0, 2, "acorn"), second])
    assert [(p.dialogue, p.state) for p in found] == [("MUL0003", {"hotel-name": "acorn"}), ("SNG0073", {})]


@pytest.mark.parametrize(
    ("slot", "value", "text"),
    [
        ("taxi-leaveAt", "18 : 15", "18:15"),
        ("hotel-name", "st john ' s", "st john's"),
        ("hotel-name", "Ġal exander Ġbed", "alexander bed"),
        ("hotel-parking", "false", "no"),
        ("hotel-type", "true", "hotel"),
        ("hotel-name", "true", "true"),
    ],
)
def test_trippy_values_are_words_again(tmp_path: Path, slot: str, value: str, text: str) -> None:
    [found] = read(tmp_path, [trippy(0, 2, value, slot=slot)])
    assert list(found.state.values()) == [text]


def test_trippy_slots_without_a_domain_keep_their_names(tmp_path: Path) -> None:
    [found] = read(tmp_path, [trippy(0, 2, "x", "x", slot="price_range")])
    assert found.state == {"price_range": "x"}


def convlab(**fields: object) -> dict[str, object]:
    state = {"hotel": {"area": "centre|center", "name": ""}}
    return {"dialogue_id": "d.json", "state": state, "predictions": {"state": {"hotel": {"area": "a|b"}}}} | fields


def test_convlab_counts_utterances_user_turns_or_samples(tmp_path: Path) -> None:
    assert [p.turn for p in read(tmp_path, [convlab(utt_idx=0), convlab(utt_idx=4)])] == [0, 2]
    assert [p.turn for p in read(tmp_path, [convlab(turn_id="0"), convlab(turn_id="3")])] == [0, 3]
    assert [p.turn for p in read(tmp_path, [convlab(), convlab()])] == [0, 1]


def test_convlab_gold_has_alternatives_and_system_samples_are_passed_over(tmp_path: Path) -> None:
    [found] = read(tmp_path, [convlab(speaker="user"), convlab(speaker="system")])
    assert found.gold == {"hotel-area": ("centre", "center")}
    assert found.state == {"hotel-area": "a|b"}


def trade(tmp_path: Path, belief: str, schema: Schema | None = None) -> dict[str, str]:
    [found] = read(tmp_path, {"d": {"0": {"turn_belief": [], "pred_bs_ptr": [belief]}}}, schema=schema)
    return found.state


@pytest.mark.parametrize(
    ("belief", "slot", "value"),
    [
        ("hotel-area-east", "hotel-area", "east"),
        ("hotel-name-a-b", "hotel-name", "a-b"),
        ("hotel-book-day-monday", "hotel-book day", "monday"),
        ("hotel-book day-tuesday-ish", "hotel-book day", "tuesday-ish"),
        ("train-leaveAt-9-15", "train-leaveat", "9-15"),
        ("hotel-area-", "hotel-area", ""),
        ("hotel-area-none", "hotel-area", "none"),
        ("hotel-colour-dark-blue", "hotel-colour", "dark-blue"),
        ("hotel--east", "hotel-", "east"),
    ],
)
def test_trade_prefers_the_reading_whose_slot_exists(tmp_path: Path, belief: str, slot: str, value: str) -> None:
    assert trade(tmp_path, belief) == {slot: value}


def test_trade_asks_the_schema(tmp_path: Path) -> None:
    schema = Schema((Service("Cars_1", slots=(Slot("pick-up"),)),))
    assert trade(tmp_path, "Cars_1-pick-up-the-city", schema) == {"Cars_1-pick-up": "the-city"}
    assert trade(tmp_path, "Cars_1-pick-up-the-city") == {"Cars_1-pick": "up-the-city"}


def checkdst(tmp_path: Path, text: str) -> dict[str, str]:
    [found] = read(tmp_path, {"dial_id": "mul0003.json-5", "pred": text})
    assert (found.dialogue, found.turn, found.gold) == ("mul0003", 5, None)
    return found.state


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", {}),
        ("hotel type guesthouse,  hotel internet yes,", {"hotel-type": "guesthouse", "hotel-internet": "yes"}),
        ("hotel book people 6, restaurant day sunday", {"hotel-book people": "6", "restaurant-book day": "sunday"}),
        ("<bs> hotel area east </bs> hotel area west", {"hotel-area": "east"}),
        ("hotel name a, b, spaceship name x, hotel area", {"hotel-name": "a"}),
        ("hotel name a, hotel name b, hotel name a", {"hotel-name": "a | b"}),
        ("hotel book people", {"hotel-book people": ""}),
    ],
)
def test_checkdst_reads_text_as_its_own_parser_does(tmp_path: Path, text: str, state: dict[str, str]) -> None:
    assert checkdst(tmp_path, text) == state


def test_checkdst_leaves_out_lines_without_prediction(tmp_path: Path) -> None:
    lines = '{"dial_id":"d-0","pred":null,"gold":""}\n{"dial_id":"d-1","pred":"","gold":null}\n'
    assert [(p.turn, p.gold) for p in read(tmp_path, lines)] == [(1, None)]


def test_multiwoz22_in_the_layout_of_sgd(tmp_path: Path) -> None:
    frame = {
        "service": "hotel",
        "slots": [{"slot": "hotel-bookday", "start": 3, "exclusive_end": 9}, {"slot": "hotel-name", "copy_from": "x"}],
        "state": {
            "active_intent": "book_hotel",
            "requested_slots": ["hotel-area"],
            "slot_values": {"hotel-bookday": ["monday"], "hotel-pricerange": ["cheap", "low"]},
        },
    }
    turns = [{"speaker": "USER", "turn_id": "0", "utterance": "on monday", "frames": [frame]}]
    [found] = read(tmp_path, [{"dialogue_id": "PMUL1.json", "services": ["hotel"], "turns": turns}])
    assert found.dialogue == "PMUL1"
    assert found.state == {"hotel-book day": "monday", "hotel-pricerange": "cheap"}
    [said] = found.frames
    assert said.requested == ("area",)
    assert [(span.slot, span.start, span.end) for span in said.spans or ()] == [("book day", 3, 9)]


def test_sgd_services_without_a_frame_keep_their_state(tmp_path: Path) -> None:
    def user(service: str, values: object) -> dict[str, object]:
        state = {"active_intent": "", "requested_slots": [], "slot_values": values}
        return {"speaker": "USER", "utterance": "", "frames": [{"service": service, "state": state}]}

    turns = [user("A_1", {"x": ["1"]}), user("B_1", {"y": ["2"]}), user("A_1", {}), {"speaker": "USER", "frames": []}]
    found = read(tmp_path, [{"dialogue_id": "d", "turns": turns}])
    assert [p.state for p in found] == [{"A_1-x": "1"}, {"A_1-x": "1", "B_1-y": "2"}, {"B_1-y": "2"}, {"B_1-y": "2"}]


def test_a_folder_of_sgd_may_hold_its_schema_and_notes(tmp_path: Path) -> None:
    dialogue = [{"dialogue_id": "d", "turns": [{"speaker": "USER", "frames": []}]}]
    (tmp_path / "dialogues_001.json").write_text(json.dumps(dialogue))
    (tmp_path / "schema.json").write_text("[]")
    (tmp_path / "README.md").write_text("notes")
    assert len(list(read_predictions(tmp_path))) == 1


def test_several_paths_and_archives_are_one_source(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"dialogue":"a","turn":0,"state":{}}')
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("b.jsonl", '{"dialogue":"b","turn":0,"state":{}}')
    found = read_predictions([tmp_path / "a.jsonl", str(tmp_path / "b.zip")])
    assert [p.dialogue for p in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("beliefs", "state"),
    [
        (["hotel area east", "hotel area east"], {"hotel-area": "east"}),
        (["hotel area east", "hotel area west"], {"hotel-area": "east | west"}),
        (["hotel book day monday", "taxi leaveat 9:15"], {"hotel-book day": "monday", "taxi-leaveat": "9:15"}),
        (["", " ", "<|endoftext|>", "hotel area none"], {"hotel-area": "none"}),
        (["hotel"], {"hotel-": ""}),
        (["hotel colour dark blue"], {"hotel-colour": "dark blue"}),
    ],
)
def test_simpletod_keeps_whatever_its_script_would_compare(
    tmp_path: Path, beliefs: list[str], state: dict[str, str]
) -> None:
    [found] = read(tmp_path, {"d.json": {"generated_turn_belief": [beliefs]}})
    assert (found.state, found.gold) == (state, None)


@pytest.mark.parametrize(
    ("span", "state"),
    [
        ("<sos_b> [hotel] area east name the old mill <eos_b>", {"hotel-area": "east", "hotel-name": "the old mill"}),
        (
            "[hotel] stay 2 day monday people 1",
            {"hotel-book stay": "2", "hotel-book day": "monday", "hotel-book people": "1"},
        ),
        ("[train] leave 9:15 [taxi] leave 10:15", {"train-leaveat": "9:15", "taxi-leaveat": "10:15"}),
        ("[hotel] name area east", {"hotel-name": "", "hotel-area": "east"}),
        ("[hotel] area east [hotel] area west", {"hotel-area": "east | west"}),
        ("[hotel] area east [bus] day monday", {"hotel-area": "east [bus]", "hotel-book day": "monday"}),
        ("area east [hotel]", {}),
        ("", {}),
    ],
)
def test_spans_are_read_as_pptod_does(tmp_path: Path, span: str, state: dict[str, str]) -> None:
    assert [p.state for p in read(tmp_path, {"d": {"0": {"bspn_gen": span}}})] == [state]
    assert [p.state for p in read(tmp_path, {"d": [{"bspn_gen": span}]})] == [state]


@pytest.mark.slow
@pytest.mark.parametrize("dialogue", ["dialogue_id", "dial_id", "Dialogue-ID", "dialogId", "dialogue", "ID"])
@pytest.mark.parametrize("turn", ["turn_id", "turn", "turn_idx", "TurnNum"])
@pytest.mark.parametrize("state", ["belief", "prediction", "pred", "Predicted State", "slot_values", "state"])
@pytest.mark.parametrize("listed", [False, True])
def test_flat_records_may_spell_their_keys_in_any_way(
    tmp_path: Path, dialogue: str, turn: str, state: str, listed: bool
) -> None:
    record = {dialogue: "d.json", turn: 3, state: {"hotel-area": "east"}, "note": "x"}
    assert read(tmp_path, [record] if listed else record) == [Prediction("d", 3, {"hotel-area": "east"})]


def test_what_a_flat_record_calls_its_prediction_is_read_rather_than_a_state(tmp_path: Path) -> None:
    record = {"id": 7, "turn": 0, "state": {"hotel-area": "west"}, "prediction": {"hotel-area": "east"}}
    record |= {"gold": {"hotel-area": ["west", "the west"], "hotel-stars": 4}, "user": "the east"}
    gold = {"hotel-stars": ("4",), "hotel-area": ("west", "the west")}
    assert read(tmp_path, record) == [Prediction("7", 0, {"hotel-area": "east"}, gold=gold, utterance="the east")]


@pytest.mark.parametrize("mark", [",", "\t", ";"])
@pytest.mark.parametrize(
    "rows",
    [
        [("dial_id", "turn_id", "slot", "value"), ("d", "0", "hotel-area", "east"), ("d", "0", "hotel-stars", "4")],
        [
            ("dialogue", "turn", "domain", "slot", "value"),
            ("d", "0", "hotel", "area", "east"),
            ("d", "0", "hotel", "stars", "4"),
        ],
        [("dialogue", "turn", "hotel-area", "hotel-stars", "note", "hotel-name"), ("d", "0", "east", "4", "x", "")],
        [("Turn ID", "Dialogue ID", "prediction"), ("0", "d.json", "hotel-area=east")],
        [("dialogue", "turn", "state"), ("d", "0", "{'hotel-area': 'east'}".replace("'", '"'))],
    ],
)
def test_tables_are_read_in_three_layouts(tmp_path: Path, mark: str, rows: list[tuple[str, ...]]) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=mark).writerows(rows)
    [found] = read(tmp_path, text.getvalue())
    assert (found.dialogue, found.turn, found.state["hotel-area"]) == ("d", 0, "east")
    assert found.state.get("hotel-stars", "4") == "4" and "hotel-name" not in found.state


def test_a_submission_to_dstc10_may_begin_with_empty_states_and_domains(tmp_path: Path) -> None:
    found = read(tmp_path, [{}, {"hotel": {}}, {"hotel": {"book": {"day": []}, "semi": {"area": ["a", "b"]}}}])
    assert [(p.dialogue, p.turn) for p in found] == [("0", 0), ("1", 0), ("2", 0)]
    assert [p.state for p in found] == [{}, {}, {"hotel-book day": "", "hotel-area": "a|b"}]


def sgd(dialogue: str, system: dict[str, object] | None = None) -> dict[str, object]:
    """A dialogue of two user turns, with a system turn between them that need not have frames."""
    state = {"active_intent": "NONE", "requested_slots": [], "slot_values": {"city": ["Rome"]}}
    user = {"speaker": "USER", "utterance": "Rome", "frames": [{"service": "Hotels_1", "state": state}]}
    between = {"speaker": "SYSTEM", "utterance": "When?"} | (system or {})
    return {"dialogue_id": dialogue, "services": ["Hotels_1"], "turns": [user, between, user]}


def read_folder(tmp_path: Path, files: dict[str, object]) -> list[tuple[str, int, dict[str, str]]]:
    for name, data in files.items():
        (tmp_path / name).write_text(json.dumps(data), encoding="utf-8")
    return [(p.dialogue, p.turn, p.state) for p in read_predictions(tmp_path)]


ROME = {"Hotels_1-city": "Rome"}


def test_sgd_system_turns_need_no_frames(tmp_path: Path) -> None:
    found = read_folder(tmp_path, {"dialogues_001.json": [sgd("1_0"), sgd("1_1", {"frames": []})]})
    assert found == [("1_0", 0, ROME), ("1_0", 1, ROME), ("1_1", 0, ROME), ("1_1", 1, ROME)]


def test_sgd_passes_over_what_the_official_script_leaves_in_the_folder(tmp_path: Path) -> None:
    files = {"dialogues_001.json": [sgd("1_0")], "dialogues_and_metrics.json": {"1_0": sgd("1_0")}, "metrics.json": {}}
    assert read_folder(tmp_path, files) == [("1_0", 0, ROME), ("1_0", 1, ROME)]


def test_sgd_reads_an_object_of_dialogues_under_their_keys(tmp_path: Path) -> None:
    unnamed = {key: value for key, value in sgd("").items() if key != "dialogue_id"}
    found = read_folder(tmp_path, {"dialogues_001.json": {"1_0": sgd("1_0"), "1_1": unnamed}})
    assert [place[:2] for place in found] == [("1_0", 0), ("1_0", 1), ("1_1", 0), ("1_1", 1)]


def test_sgd_says_where_an_object_of_dialogues_is_wrong(tmp_path: Path) -> None:
    broken = sgd("1_1") | {"turns": [{"speaker": "USER", "frames": [{"state": None}]}]}
    with pytest.raises(PredictionError, match=r"dialogues_001.json, dialogue 1_1: .*`service`"):
        read_folder(tmp_path, {"dialogues_001.json": {"1_0": sgd("1_0"), "1_1": broken}})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"d": {"0": {"gt": {"hotel": {"name": "Acorn"}}, "pr": {"hotel": {"name": "acorn"}}}}}, 0.0),
        ({"dial_id": "d-0", "gold": "hotel area centre,", "pred": "hotel area center,"}, 1.0),
        ({"dial_id": "d-0", "gold": "hotel stars 4-star,", "pred": "hotel stars 4,"}, 1.0),
        ({"dial_id": "d-0", "gold": "hotel name Acorn,", "pred": "hotel name acorn,"}, 0.0),
    ],
)
def test_a_file_is_scored_as_its_own_script_does(tmp_path: Path, data: object, expected: float) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert score(path, metrics="jga", options=ScoringOptions(resamples=2))["jga"].value == expected
