"""The embedded corpus: the same everywhere, true to its schema, and as hard as its page says."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reminder import generate, generate_dialogue, schema, town
from benchmarks.reminder.specs import services, words
from dstress.corpora import load
from dstress.corpora.reminder import SIZES
from dstress.dialogue import DONTCARE, Dialogue, Frame, Turn, service_of, slot_id
from dstress.errors import UnknownNameError
from tests.paths import DOCS, SEARCHED

PAGE = DOCS / "reminder.md"
DIGESTS = {
    "train": "8ea62e673c2c0a7d6f0664be936ba246cf074ee76e6fab881c72b307d3a3c4ed",
    "dev": "6ca7cf7080fe79cb987a8ed631e78e6140565a6a5f25ca21ae2a05ec485ef3ea",
    "test": "197c99f3bf4dca2082f6b18190b38531229b5c12bb9bfa11ca619a000ad583b7",
}
WORDS_AND_LABELS = {
    "train": "e036fa1586138af7eda8878d217092fba36d1f310616bb73e58e828f4449c3cc",
    "dev": "0a0cae0644b704faa89c7fc09edf725ddefd75c16320ad8e8c94d78930e454d2",
    "test": "d0d0200eaacf9341f441d1c41555b6f1ec4ebd6a564f06b61b41ce7a2960146f",
}
"""Of the turns alone, without what only responses are judged by: every score of a tracker stands on these."""
NAME_SLOTS = [
    slot_id(service.name, slot.name) for service in services().values() for slot in service.slots if slot.pool
]
SPLITS = list(SIZES)
ANY_PLACE = st.sampled_from([(split, index) for split, size in SIZES.items() for index in range(size)])


@cache
def dialogues(split: str) -> tuple[Dialogue, ...]:
    return tuple(generate(split))


def turns(split: str) -> list[Turn]:
    return [turn for each in dialogues(split) for turn in each.turns]


def as_lines(split: str) -> bytes:
    return b"".join(msgspec.json.encode(each) + b"\n" for each in generate(split))


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_sizes_and_ids(split: str) -> None:
    ids = [each.id for each in dialogues(split)]
    assert ids == [f"reminder-{split}-{index:04d}" for index in range(SIZES[split])]


@pytest.mark.parametrize("split", SPLITS)
def test_every_byte_is_pinned(split: str) -> None:
    assert hashlib.sha256(as_lines(split)).hexdigest() == DIGESTS[split]


@pytest.mark.parametrize("split", SPLITS)
def test_what_trackers_are_scored_on_is_pinned_by_itself(split: str) -> None:
    digest = hashlib.sha256()
    for each in dialogues(split):
        bare = tuple(msgspec.structs.replace(turn, booked=()) for turn in each.turns)
        digest.update(msgspec.json.encode(Dialogue(each.id, bare, each.services)) + b"\n")
    assert digest.hexdigest() == WORDS_AND_LABELS[split]


@pytest.mark.parametrize("split", SPLITS)
def test_what_comes_with_dstress_is_what_the_simulator_makes(split: str) -> None:
    shipped = load(f"reminder:{split}")
    assert hashlib.sha256(b"".join(msgspec.json.encode(each) + b"\n" for each in shipped)).hexdigest() == DIGESTS[split]
    assert shipped.schema == schema(split)
    assert shipped.database is not None
    assert shipped.database.tables == {
        service: tuple(
            {column: value for column, value in row.items() if column != "splits"}
            for row in rows
            if split in row["splits"].split()
        )
        for service, rows in town().tables.items()
    }


@given(place=ANY_PLACE)
def test_a_dialogue_does_not_depend_on_the_others(place: tuple[str, int]) -> None:
    split, index = place
    assert generate_dialogue(split, index) == dialogues(split)[index]


def test_another_seed_gives_another_corpus() -> None:
    assert next(generate("dev", seed=2)) != next(generate("dev"))


@given(seed=st.integers(min_value=0, max_value=2**40), split=st.sampled_from(SPLITS))
def test_any_seed_holds_a_conversation(seed: int, split: str) -> None:
    made = generate_dialogue(split, 0, seed)
    assert len(made.turns) >= 2
    for turn in made.turns:
        assert_frames_fit(turn)


def test_an_unknown_split_is_an_error_with_a_hint() -> None:
    with pytest.raises(UnknownNameError, match="did you mean"):
        schema("tests")
    with pytest.raises(UnknownNameError):
        next(generate("valid"))


@pytest.mark.parametrize("split", SPLITS)
def test_states_keep_to_the_schema(split: str) -> None:
    slots = schema(split).slots
    for turn in turns(split):
        for name, values in turn.state.items():
            assert values
            assert len(set(values)) == len(values)
            if slots[name].categorical:
                assert set(values) <= {*slots[name].values, DONTCARE}


def assert_frames_fit(turn: Turn) -> None:
    for text, frames in ((turn.user, turn.frames), (turn.system, turn.system_frames)):
        for frame in frames:
            assert frame.acts
            said = [value for act in frame.acts for value in act.values]
            for span in frame.spans:
                assert 0 <= span.start < span.end <= len(text)
                assert text[span.start : span.end] in said


@pytest.mark.parametrize("split", SPLITS)
def test_spans_are_the_values_of_the_acts(split: str) -> None:
    for turn in turns(split):
        assert_frames_fit(turn)


def informed(frames: tuple[Frame, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for frame in frames:
        for act in frame.acts:
            found.setdefault(slot_id(frame.service, act.slot), []).extend(act.canonical)
    return found


@pytest.mark.parametrize("split", SPLITS)
def test_the_state_changes_only_by_the_acts_of_its_turn(split: str) -> None:
    for each in dialogues(split):
        before: dict[str, tuple[str, ...]] = {}
        for turn, change in zip(each.turns, each.updates(), strict=True):
            acts = informed(turn.frames)
            for name, values in change.items():
                assert (values or before[name])[0] in acts[name]
            before = turn.state


@pytest.mark.parametrize("split", SPLITS)
def test_every_new_value_can_be_read(split: str) -> None:
    slots = schema(split).slots
    for each in dialogues(split):
        for turn, change in zip(each.turns, each.updates(), strict=True):
            referred = {reference.slot for reference in turn.coreferences}
            marked = {slot_id(f.service, s.slot) for f in (*turn.frames, *turn.system_frames) for s in f.spans}
            offered = informed(turn.system_frames)
            for name, values in change.items():
                free = not values or values[0] == DONTCARE or name in referred or name in marked
                assert free or slots[name].values == ("yes", "no") or values[0] in offered[name], (each.id, name)


@pytest.mark.parametrize("split", SPLITS)
def test_coreferences_point_back_to_their_value(split: str) -> None:
    for each in dialogues(split):
        for number, turn in enumerate(each.turns):
            for reference in turn.coreferences:
                assert reference.expression in turn.user
                assert turn.state[reference.slot][0] == reference.value
                assert 0 <= reference.turn < number
                values = [forms[0] for forms in each.turns[reference.turn].state.values()]
                assert reference.value in values


@pytest.mark.parametrize("split", SPLITS)
def test_out_of_domain_turns_change_nothing(split: str) -> None:
    for each in dialogues(split):
        for turn, change in zip(each.turns, each.updates(), strict=True):
            if turn.ood:
                assert not change
                assert not turn.frames


def test_chat_of_the_test_split_is_its_own() -> None:
    chat = words().chat
    assert len(set(chat["train"])) >= 60
    assert not set(chat["train"]) & set(chat["test"])


def phenomena(split: str) -> Counter[str]:
    seen: Counter[str] = Counter()
    for each in dialogues(split):
        seen["multi-service"] += len(each.services) > 1
        before: dict[str, tuple[str, ...]] = {}
        for turn, change in zip(each.turns, each.updates(), strict=True):
            acts = [act.act for frame in turn.frames for act in frame.acts]
            system = [act.act for frame in turn.system_frames for act in frame.acts]
            seen["correction"] += any(values and name in before for name, values in change.items())
            seen["drop"] += any(not values for values in change.values())
            seen["coreference"] += bool(turn.coreferences)
            seen["dontcare"] += any(values == (DONTCARE,) for values in change.values())
            seen["ood"] += turn.ood
            seen["confirmation"] += "CONFIRM" in system
            seen["negated confirmation"] += "CONFIRM" in system and "NEGATE" in acts
            seen["accepted offer"] += "SELECT" in acts
            seen["failure"] += "NOTIFY_FAILURE" in system
            seen["request"] += "REQUEST" in acts
            before = turn.state
    return seen


FLOORS = {
    "multi-service": 0.5,
    "correction": 0.5,
    "drop": 0.05,
    "coreference": 0.35,
    "dontcare": 0.35,
    "ood": 0.25,
    "confirmation": 0.7,
    "negated confirmation": 0.2,
    "accepted offer": 0.4,
    "failure": 0.2,
    "request": 0.4,
}


@pytest.mark.parametrize("split", SPLITS)
def test_phenomena_are_frequent(split: str) -> None:
    seen = phenomena(split)
    low = {name: seen[name] for name, floor in FLOORS.items() if seen[name] < floor * SIZES[split]}
    assert not low


def test_dialogues_are_of_a_usual_length() -> None:
    assert 6 <= len(turns("train")) / SIZES["train"] <= 10


def names_in(split: str) -> list[str]:
    return [
        values[0] for each in dialogues(split) for name, values in each.turns[-1].state.items() if name in NAME_SLOTS
    ]


def test_most_names_of_the_test_split_are_unseen() -> None:
    seen = set(names_in("train")) | set(names_in("dev"))
    found = names_in("test")
    assert sum(name not in seen for name in found) / len(found) >= 0.5
    assert any(name in seen for name in found)


def delexicalised(turn: Turn) -> str:
    text = turn.user
    spans = sorted((span for frame in turn.frames for span in frame.spans), key=lambda span: -span.start)
    for span in spans:
        text = f"{text[: span.start]}[{span.slot}]{text[span.end :]}"
    return re.sub(r"\d+", "#", text.lower().strip("."))


def test_utterances_vary() -> None:
    templates = [delexicalised(turn) for turn in turns("train") if turn.frames and turn.state]
    assert len(set(templates)) / len(templates) > 0.5
    unseen = {delexicalised(turn) for turn in turns("test")} - {delexicalised(turn) for turn in turns("train")}
    assert len(unseen) > 400


@pytest.mark.parametrize("split", SPLITS)
def test_goals_are_what_the_user_has_in_the_end(split: str) -> None:
    for each in dialogues(split):
        assert each.goal is not None and each.goal.inform
        assert each.goal.description.startswith("You ")
        final = each.turns[-1].state
        assert each.goal.inform == {slot: final[slot][:1] for slot in each.goal.inform}
        assert all(each.goal.inform[slot] != first for slot, first in each.goal.fallback.items())
        asked = [slot_id(f.service, name) for turn in each.turns for f in turn.frames for name in f.requested]
        kept = {service_of(slot) for slot in final}
        assert sorted(each.goal.request) == sorted(slot for slot in asked if service_of(slot) in kept)


@pytest.mark.parametrize("split", SPLITS)
def test_the_desk_says_what_the_database_has(split: str) -> None:
    """Offers and facts stand in a row, and where the desk finds nothing there is nothing."""
    town, counted = load(f"reminder:{split}").database, Counter[str]()
    assert town is not None
    for each in dialogues(split):
        known: dict[str, str] = {}
        said: set[str] = set()
        for before, turn in zip((Turn(""), *each.turns), each.turns, strict=False):
            for frame in turn.system_frames:
                acts = [(act.act, act.slot, act.canonical[0]) for act in frame.acts if act.canonical]
                names = [value for act, slot, value in acts if slot == "name"]
                known[frame.service] = (*names, known.get(frame.service, ""))[0]
                said.update(names)
                roles = {slot.name: slot.role for slot in services()[frame.service].slots}
                denied = any(act.act == "NOTIFY_FAILURE" for act in frame.acts)
                search = {slot: forms[0] for slot, forms in before.state_of(frame.service).items()}
                search = {slot: value for slot, value in search.items() if roles[slot] == "search"}
                if denied and any(act == "OFFER" and roles[slot] == "search" for act, slot, _ in acts):
                    assert {row["name"] for row in town.query(frame.service, search)} <= said
                    counted["denied"] += 1
                elif not denied and frame.service in town.tables:
                    facts = {slot: value for _, slot, value in acts if roles[slot] in ("search", "info")}
                    name = before.state_of(frame.service).get("name", (known[frame.service],))[0]
                    if facts:
                        [row] = town.query(frame.service, {"name": names[0] if names else name})
                        assert facts.items() <= row.items()
                        counted["told"] += 1
    assert min(counted["denied"], counted["told"]) >= 8, counted


@pytest.mark.parametrize("split", SPLITS)
def test_the_desk_offers_what_the_goal_asks_for(split: str) -> None:
    """As inform is judged: all that fits the state, when the last new choice is offered, fits the goal."""
    town, judged = load(f"reminder:{split}").database, 0
    assert town is not None
    for each in dialogues(split):
        assert each.goal is not None
        for service in town.tables:
            goal = {slot.partition("-")[2]: v[0] for slot, v in each.goal.inform.items() if service_of(slot) == service}
            if not goal or "name" in goal:
                continue
            offered: set[str] = set()
            for turn, after in zip(each.turns, each.turns[1:], strict=False):
                acts = [act for frame in after.system_frames if frame.service == service for act in frame.acts]
                if any(act.slot == "name" for act in acts):
                    state = {slot: forms[0] for slot, forms in turn.state_of(service).items()}
                    found = {row["name"] for row in town.query(service, state)}
                    offered = offered if offered and offered <= found else found
            assert offered and offered <= {row["name"] for row in town.query(service, goal)}
            judged += 1
    assert judged > SIZES[split] / 2


@pytest.mark.parametrize("split", SPLITS)
def test_a_service_is_booked_from_the_answer_with_its_reference_on(split: str) -> None:
    for each in dialogues(split):
        answers = [*(turn.system for turn in each.turns[1:]), each.closing]
        assert each.closing
        before: tuple[str, ...] = ()
        for turn, answer in zip(each.turns, answers, strict=True):
            assert (turn.booked != before) == bool(re.search(r"\breference\b", answer))
            assert set(before) <= set(turn.booked)
            before = turn.booked


def transcript(each: Dialogue) -> str:
    lines = []
    for turn in each.turns:
        lines += [f"    SYSTEM  {turn.system}"] if turn.system else []
        lines += [f"    USER    {turn.user}"]
    return "\n".join([*lines, f"    SYSTEM  {each.closing}"])


def test_the_page_shows_what_is_generated() -> None:
    page = PAGE.read_text(encoding="utf-8")
    sample = re.search(r"`(reminder-(\w+)-(\d+))` in full", page)
    assert sample
    assert transcript(generate_dialogue(sample[2], int(sample[3]))) in page
    everything = "\n".join(f"{t.system}\n{t.user}" for split in SPLITS for t in turns(split))
    for quote in re.findall(r"^> (.+)$", page, re.MULTILINE):
        assert quote in everything
    for split in SPLITS:
        frames = sum(len(turn.frames) for turn in turns(split))
        assert f"| {split} | {SIZES[split]} | {len(turns(split))} | {frames} |" in page
        seen = phenomena(split)
        for name in FLOORS:
            assert re.search(rf"^\| {name} \|.*\b{seen[name]}\b", page, re.MULTILINE), (split, name, seen[name])


@pytest.mark.slow
def test_eight_processes_that_use_it_first_all_succeed(tmp_path: Path) -> None:
    code = "import dstress; print(len(list(dstress.load('reminder:test'))))"
    setting = {**os.environ, "DSTRESS_HOME": str(tmp_path), "PYTHONPATH": SEARCHED}
    started = [
        subprocess.Popen([sys.executable, "-c", code], env=setting, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(8)
    ]
    told = [process.communicate() for process in started]
    assert [out for out, _ in told] == [b"150\n"] * 8, told
