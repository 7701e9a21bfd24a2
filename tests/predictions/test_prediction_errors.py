"""Whatever is wrong with a file is said with its place, and never as another kind of error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstress.errors import DstressError, PredictionError, UnknownNameError, place
from dstress.predictions import detect, formats, read_predictions
from dstress.storage.sources import open_source
from tests.predictions.examples import EXAMPLES, JSON

TRADE = {"d.json": {"0": {"turn_belief": [], "pred_bs_ptr": ["hotel-area-east"]}}}


def failing(tmp_path: Path, data: object, format: str | None = None, file: str = "p.json") -> str:
    path = tmp_path / file
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    with pytest.raises(PredictionError) as caught:
        list(read_predictions(path, format=format))
    assert str(path) in str(caught.value)
    return str(caught.value)


def sgd(*turns: object) -> list[object]:
    return [{"dialogue_id": "1_0", "turns": list(turns)}]


def user(*frames: object) -> dict[str, object]:
    return {"speaker": "USER", "utterance": "", "frames": list(frames)}


def frame(values: object, service: str = "Hotels_1") -> dict[str, object]:
    return {"service": service, "state": {"active_intent": "", "requested_slots": [], "slot_values": values}}


@pytest.mark.parametrize("name", list(formats))
@pytest.mark.parametrize("data", [b"", b"  \n ", b"{", b"[", b"nonsense", b"\xff\xfe\x00", b"[NaN]", b"3", b'{"a"'])
def test_what_is_no_json_at_all(tmp_path: Path, name: str, data: bytes) -> None:
    failing(tmp_path, data, name)
    failing(tmp_path, data)


@pytest.mark.parametrize("name", list(formats))
def test_too_deep_to_be_read(tmp_path: Path, name: str) -> None:
    failing(tmp_path, b'{"a":' * 3000, name)
    failing(tmp_path, b"[" * 100_000, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", JSON)
def test_a_file_cut_off_at_any_place(tmp_path: Path, name: str) -> None:
    data = EXAMPLES[name].sample.encode()
    path = tmp_path / EXAMPLES[name].file
    for size in range(len(data)):
        path.write_bytes(data[:size])
        try:
            list(read_predictions(path))
        except PredictionError:
            continue
        assert size == len(data) or data[:size].endswith((b"}", b"\n")), size


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_byte_order_mark_does_not_matter(tmp_path: Path, name: str) -> None:
    path = EXAMPLES[name].written(tmp_path)
    read = list(read_predictions(path))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert list(read_predictions(path)) == read


def test_an_unknown_shape_says_what_was_found_and_what_the_nearest_format_lacks(tmp_path: Path) -> None:
    message = failing(tmp_path, {"foo": 1, "bar": 2})
    assert "a JSON object with the keys 'foo', 'bar'; the nearest is flat: flat needs a dialogue column" in message
    assert "--map dialogue=COLUMN" in message and len(message) < 400
    assert "a JSON array of objects with the keys 'foo'" in failing(tmp_path, [{"foo": 1}])
    message = failing(tmp_path, b"guid,pred\n1,2")
    assert "begins with 'guid,pred" in message and "the nearest is csv: the table needs a dialogue column" in message
    sample = {"dialogue_id": "d1", "utt_idx": 0, "state": {}}
    assert "the nearest is convlab: Object missing required field `predictions`" in failing(tmp_path, [sample])
    assert "an empty file" in failing(tmp_path, b"")


def test_a_folder_without_files(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DstressError, match="no file"):
        list(read_predictions(tmp_path / "empty"))


def test_an_unknown_format(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"{}")
    with pytest.raises(UnknownNameError, match="did you mean 'trade'"):
        list(read_predictions(tmp_path / "p", format="trad"))


DOUBLED = {
    "dstress": b'{"dialogue":"d","turn":0,"state":{}}\n{"dialogue":"D","turn":0,"state":{}}\n',
    "trade": b'{"d": {"0": {"pred_bs_ptr": []}, "0": {"pred_bs_ptr": []}}}',
    "som-dst": b'{"d_0": [[], []], "d_0": [[], []]}',
    "gca": b'{"d": {"0": {"gt": {}, "pr": {}}}, "d.json": {"0": {"gt": {}, "pr": {}}}}',
    "mwzeval": b'{"d": [{"response": ""}], "d": [{"response": ""}]}',
    "states": b'{"d": [{}], "d": [{}]}',
    "checkdst": b'{"dial_id":"d-0","pred":"","gold":""}\n{"dial_id":"D-0","pred":"","gold":""}',
    "parlai": b'{"dialog":[[{"dial_id":"d","turn_num":0,"eval_labels":[""]},{"text":""}]]}\n' * 2,
    "sgd": json.dumps(sgd(user(frame({}))) * 2).encode(),
    "trippy": json.dumps([{"guid": ["test", "d", "0"], "slot_prediction_hotel-area": "none"}] * 2).encode(),
    "trippy-matches": json.dumps({"d": {"0": [1] * 30}, "D": {"0": [1] * 30}}).encode(),
    "convlab": json.dumps([{"dialogue_id": "d", "utt_idx": 0, "predictions": {"state": {}}}] * 2).encode(),
    "t5dst": json.dumps({name: {"turns": {"0": {"pred_belief": []}}} for name in ("d", "D.json")}).encode(),
    "simpletod": b'{"d": {"generated_turn_belief": [[]]}, "d": {"generated_turn_belief": [[]]}}',
    "pptod": b'{"d": {"0": {"bspn_gen": ""}, "0": {"bspn_gen": ""}}}',
    "fnctod": b'{"d": [{"bspn_gen": ""}], "d": [{"bspn_gen": ""}]}',
    "ic-dst": json.dumps([{"ID": "d", "turn_id": 0, "pred": {}}] * 2).encode(),
    "flat": b'{"dial_id":"d","turn":0,"state":{}}\n{"dial_id":"D","turn":0,"state":{}}\n',
    "calls": b'{"id":"d","result":[]}\n{"id":"D","result":[]}\n',
    "csv": b"dialogue,turn,state\nd,0,\nD,0,\n",
}


# In a submission to DSTC10 turns are numbered by their order.
@pytest.mark.parametrize("name", [name for name in formats if name != "dstc10"])
def test_a_turn_that_is_there_twice(tmp_path: Path, name: str) -> None:
    assert "twice" in failing(tmp_path, DOUBLED[name])


@pytest.mark.parametrize("turn", ["-1", "1.5", "one", "", "१", "99999999999999999999"])
def test_a_turn_that_is_no_turn(tmp_path: Path, turn: str) -> None:
    assert "dialogue d" in failing(tmp_path, {"d.json": {turn: TRADE["d.json"]["0"]}}, "trade")


def test_a_negative_turn_in_our_own_format(tmp_path: Path) -> None:
    assert "dialogue d: the turn -1 cannot be" in failing(tmp_path, {"dialogue": "d", "turn": -1, "state": {}})


@pytest.mark.parametrize(
    ("value", "shown"),
    [({"a": 1}, "an object"), ([["east"]], "a list"), (True, "true or false"), (10**30, "a number out of range")],
)
def test_a_value_that_is_no_text_is_named_with_its_slot(tmp_path: Path, value: object, shown: str) -> None:
    nested = {"hotel": {"area": value}}
    files: dict[str, object] = {
        "dstress": {"dialogue": "d", "turn": 2, "state": {"hotel-area": value}},
        "gca": {"d": {"2": {"gt": {}, "pr": nested}}},
        "mwzeval": {"d": [{"response": ""}, {"response": ""}, {"response": "", "state": nested}]},
        "states": {"d": [{}, {}, nested]},
        "convlab": [{"dialogue_id": "d", "turn_id": 2, "state": {}, "predictions": {"state": nested}}],
        "ic-dst": [{"ID": "d", "turn_id": 2, "pred": {"hotel-area": value}}],
        "flat": {"dialog": "d", "turn": 2, "pred": nested},
    }
    for name, data in files.items():
        message = failing(tmp_path, data, name)
        assert f"dialogue d, turn 2: the value of the slot 'hotel-area' is {shown}" in message
        assert "fix: " in message


@pytest.mark.parametrize(("value", "text"), [(3, "3"), (3.0, "3"), (2.5, "2.5"), ("3", "3"), (0, "0")])
def test_a_number_is_its_text(tmp_path: Path, value: object, text: str) -> None:
    path = tmp_path / "p.json"
    for data in (
        {"dialogue": "d", "turn": 0, "state": {"hotel-stars": value}},
        {"d": [{"response": "", "state": {"hotel": {"stars": value}}}]},
        sgd(user(frame({"stars": [value]}, "hotel"))),
    ):
        path.write_text(json.dumps(data))
        assert next(read_predictions(path)).state == {"hotel-stars": text}


def test_null_is_no_value(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('{"dialogue": "d", "turn": 0, "state": {"hotel-stars": null, "hotel-area": "none"}}')
    assert next(read_predictions(path)).state == {"hotel-area": "none"}


def test_two_spellings_of_a_slot_may_not_disagree(tmp_path: Path) -> None:
    data = {"dialogue": "d", "turn": 0, "state": {"hotel-book day": "monday", "hotel-bookday": "friday"}}
    assert "'hotel-book day' has two values, 'monday' and 'friday'" in failing(tmp_path, data)


def test_a_slot_without_a_service(tmp_path: Path) -> None:
    assert "'area' names no service" in failing(tmp_path, {"dialogue": "d", "turn": 0, "state": {"area": "east"}})


def test_a_line_is_named_by_its_number(tmp_path: Path) -> None:
    lines = b'{"dialogue":"d","turn":0,"state":{}}\n\n{"dialogue":"d","turn":1,"stat":{}}\n'
    assert "line 3" in failing(tmp_path, lines, file="p.jsonl")


def test_nan_is_explained(tmp_path: Path) -> None:
    assert "NaN" in failing(tmp_path, b'{"d": {"0": {"gt": {}, "pr": {"hotel": {"stars": NaN}}}}}')


def test_an_empty_list_of_values_in_sgd(tmp_path: Path) -> None:
    data = sgd(user(frame({"city": ["x"]})), {"speaker": "SYSTEM", "frames": []}, user(frame({"city": []})))
    message = failing(tmp_path, data)
    assert "dialogue 1_0, turn 1: the slot 'Hotels_1-city' has an empty list of values" in message
    assert "Expected `array`, got `str`" in failing(tmp_path, sgd(user(frame({"city": "x"}))))


def test_two_frames_for_one_service_in_sgd(tmp_path: Path) -> None:
    assert "turn 0: two frames for the service 'Hotels_1'" in failing(tmp_path, sgd(user(frame({}), frame({}))))


def test_a_third_speaker_in_sgd(tmp_path: Path) -> None:
    assert "neither USER nor SYSTEM" in failing(tmp_path, sgd({"speaker": "BOT", "frames": []}))


def test_a_wrong_type_in_sgd_names_the_dialogue(tmp_path: Path) -> None:
    message = failing(tmp_path, sgd(user({"service": 3})))
    assert "dialogue 1_0" in message
    assert "$.turns[0].frames[0].service" in message
    assert "item 0" in failing(tmp_path, [{"dialogue_id": 3, "turns": []}], "sgd")


def test_a_belief_that_is_too_short(tmp_path: Path) -> None:
    message = failing(tmp_path, {"d": {"4": {"turn_belief": [], "pred_bs_ptr": ["hotel-area"]}}})
    assert "dialogue d, turn 4: 'hotel-area' is not domain-slot-value" in message


def test_marks_for_other_slots_than_trippys(tmp_path: Path) -> None:
    assert "3 marks for 30 slots" in failing(tmp_path, {"d": {"0": [1, 0, 1]}})


def test_a_guid_that_is_none(tmp_path: Path) -> None:
    assert "SPLIT-DIALOGUE-TURN" in failing(tmp_path, [{"guid": "test-0", "slot_prediction_hotel-area": "x"}])
    assert "item 0" in failing(tmp_path, [{"guid": 7, "slot_prediction_hotel-area": "x"}])


def test_the_source_is_closed_when_the_reader_is(tmp_path: Path) -> None:
    path = EXAMPLES["trade"].written(tmp_path)
    reading = read_predictions(path)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    path.unlink()


def test_only_the_head_of_a_file_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    turns = {str(n): {"turn_belief": [], "pred_bs_ptr": ["hotel-name-" + "x" * 1000]} for n in range(300)}
    path.write_text(json.dumps({"d": turns, "e": turns}) + "rubbish at the end")
    with open_source(path) as source:
        assert detect(source).name == "trade"
    with pytest.raises(PredictionError):
        list(read_predictions(path))


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (b"dialogue,turn,slot,value\n", "there is no row"),
        (b"dialogue,turn,slot,value\nd,0,hotel-area\n", "row 2: 3 cells under 4 columns"),
        (b'dialogue,turn,slot,value\nd,0,hotel-area,"a"b\n', "row 2: not a row of a table"),
        (b"dialogue,turn,slot,value\nd,0,area,east\n", "row 2, dialogue d, turn 0: the slot 'area' names no service"),
        (b"dialogue,turn,slot,value\nd,x,hotel-area,east\n", "row 2, dialogue d: the turn 'x' is not a number"),
        (b"dialogue,turn,slot,value\nd,0,hotel-area,east\nd,0,hotel-area,west\n", "has two values, 'east' and 'west'"),
        (b"dialogue,turn,hotel-area,hotel-area\nd,0,east,west\n", "the column 'hotel-area' is there twice"),
        (b"dialogue,turn,state\nd,0,somewhere east\n", "turn 0: 'somewhere east' is no slot and value"),
        (b"dialogue,turn,hotel-area\nd,0,\xff\n", "line 2: not UTF-8 text"),
    ],
)
def test_what_is_wrong_with_a_table_is_told_with_its_row(tmp_path: Path, table: bytes, problem: str) -> None:
    assert problem in failing(tmp_path, table, file="p.csv")


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        (7, "no known prediction format"),
        ([7], "7 is no slot and value"),
        ([["hotel-area"]], "['hotel-area'] is no slot and value"),
        ("the east", "'the east' is no slot and value"),
        ('{"hotel-area": ', "the file may be cut off"),
    ],
)
def test_a_flat_state_that_is_none(tmp_path: Path, state: object, problem: str) -> None:
    assert problem in failing(tmp_path, {"dialogue_id": "d", "turn_id": 0, "state": state})


def test_a_list_of_simpletod_that_is_too_short(tmp_path: Path) -> None:
    data = {"d": {"generated_turn_belief": [[], []], "target_turn_belief": [[]]}}
    assert "dialogue d: 'target_turn_belief' has 1 turns only" in failing(tmp_path, data)


def test_a_number_of_400_digits(tmp_path: Path) -> None:
    data = b'{"dialogue": "d", "turn": 0, "state": {"hotel-stars": ' + b"7" * 400 + b"}}\n"
    assert "out of range" in failing(tmp_path, data, "dstress", "p.jsonl")


def test_an_id_of_many_letters_is_not_quoted_whole() -> None:
    assert len(place("f", "a" * 100_000, 3)) < 300 and place("f", "abc", 3) == "f, dialogue abc, turn 3"
    for long in ("a" * 100_000, "a b " * 100_000):
        assert 100 < len(str(DstressError(f"1 dialogue that the gold does not have ({long})", fix="look"))) < 21_000
