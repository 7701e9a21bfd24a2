"""What every convention promises, on any state; and how far the scripts themselves are from scoring gold as 1."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.conventions import Convention, conventions
from dstress.dialogue import DONTCARE, State
from tests.paths import DOCS

SPECS = (*conventions, "dstc8(fuzz=difflib)", "simpletod(dontcare=keep)", "convlab(listed=all)", "trade(labels=coco)")
MADE = {spec: conventions.create(spec) for spec in SPECS}
REFLEXIVE = [spec for spec, convention in MADE.items() if convention.reflexive and "keep" not in spec]
SLOTS = ("hotel-area", "hotel-type", "hotel-name", "hotel-book day", "taxi-leaveat", "hotel-internet", "Events_1-date")
KNOWN = (DONTCARE, "any", "yes", "free", "18:15", "5:15 pm", "guesthouse", "acorn guest house", "the museum", "a|b")
values = st.sampled_from(KNOWN) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
states = st.dictionaries(
    st.sampled_from(SLOTS), st.lists(values, min_size=1, max_size=3, unique=True).map(tuple), max_size=5
)
predictions = st.dictionaries(st.sampled_from(SLOTS), values | st.just("§§acorn"), max_size=5)
every = pytest.mark.parametrize("convention", list(MADE.values()), ids=list(MADE))


def first(state: State) -> dict[str, str]:
    return {slot: accepted[0] for slot, accepted in state.items()}


@every
@given(gold=states, predicted=predictions)
def test_scores_lie_between_0_and_1(convention: Convention, gold: State, predicted: dict[str, str]) -> None:
    assert 0.0 <= convention.score(gold, predicted) <= 1.0


@every
@given(gold=states, predicted=predictions, data=st.data())
def test_the_order_of_slots_never_matters(
    convention: Convention, gold: State, predicted: dict[str, str], data: st.DataObject
) -> None:
    shuffled = dict(data.draw(st.permutations(list(gold.items()))))
    again = dict(data.draw(st.permutations(list(predicted.items()))))
    assert convention.score(shuffled, again) == pytest.approx(convention.score(gold, predicted), abs=1e-12)


@pytest.mark.parametrize("convention", [MADE[spec] for spec in REFLEXIVE], ids=REFLEXIVE)
@given(gold=states)
def test_gold_against_gold_is_1(convention: Convention, gold: State) -> None:
    assert convention.score(gold, first(gold)) == 1.0


@every
@given(gold=states)
def test_preparing_gives_distinct_forms_and_does_not_change_gold(convention: Convention, gold: State) -> None:
    before = dict(gold)
    for slot, accepted in gold.items():
        forms = convention.gold(slot, accepted)
        assert len(set(forms)) == len(forms) or convention.name in ("dstc8", "multiwoz22")
    assert gold == before


@given(gold=states)
def test_mwzeval_scores_gold_as_1_but_for_dontcare(gold: State) -> None:
    expected = float(not any(DONTCARE in accepted for accepted in gold.values()))
    assert MADE["mwzeval"].score(gold, first(gold)) == expected


@given(gold=states)
def test_trade_scores_corrected_gold_as_1(gold: State) -> None:
    trade = MADE["trade"]
    corrected = {slot: trade.gold(slot, accepted)[0] for slot, accepted in gold.items()}
    assert trade.score(gold, corrected) == float("none" not in corrected.values())


@pytest.mark.parametrize("spec", REFLEXIVE)
def test_gold_of_the_real_corpora_against_itself_is_1(spec: str, real_gold: list[State]) -> None:
    assert all(MADE[spec].score(state, first(state)) == 1.0 for state in real_gold)


def test_where_the_scripts_do_not_score_real_gold_as_1(real_gold: list[State]) -> None:
    """TRADE and FnCTOD correct one side only; mwzeval deletes `dontcare` and reads booking times so."""
    for name, reason in (("trade", _mended), ("fnctod", _mended), ("mwzeval", _open_or_mended)):
        convention = MADE[name]
        lost = [state for state in real_gold if convention.score(state, first(state)) != 1.0]
        assert lost
        assert all(reason(convention, state) for state in lost)


def _mended(convention: Convention, state: State) -> bool:
    return any(
        convention.predicted(slot, accepted[0]) not in convention.gold(slot, accepted)
        for slot, accepted in state.items()
    )


def _open_or_mended(convention: Convention, state: State) -> bool:
    return any(DONTCARE in accepted for accepted in state.values()) or _mended(
        convention, {slot: accepted for slot, accepted in state.items() if slot == "restaurant-booktime"}
    )


@pytest.fixture(scope="module")
def real_gold(shared: Path) -> list[State]:
    """Every distinct gold state of the SGD sample and of MultiWOZ 2.1 test."""
    found: dict[str, State] = {}
    for path in sorted((shared / "golden/sgd/ref").glob("*.json")):
        for dialogue in json.loads(path.read_text(encoding="utf-8")):
            for frame in (frame for turn in dialogue["turns"] for frame in turn["frames"] if "state" in frame):
                state = {
                    f"{frame['service']}-{slot}": tuple(forms) for slot, forms in frame["state"]["slot_values"].items()
                }
                found[repr(state)] = state
    multiwoz = json.loads((shared / "golden/mwzeval/gold_states_mwz21.json").read_text(encoding="utf-8"))
    for turn in (turn for turns in multiwoz.values() for turn in turns):
        state = {f"{domain}-{slot}": (value,) for domain, slots in turn.items() for slot, value in slots.items()}
        found[repr(state)] = state
    return list(found.values())


def test_the_door_is_light() -> None:
    """Naming the conventions must not load one of them, nor rapidfuzz."""
    code = (
        "import sys; from dstress.conventions import conventions; assert 'dstc8' in list(conventions); "
        "sys.exit(any(m.startswith(('rapidfuzz', 'dstress.conventions.dstc8')) for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", list(conventions))
def test_every_convention_has_its_name_and_a_section_in_the_docs(name: str) -> None:
    page = DOCS / "conventions.md"
    assert conventions.get(name).name == name
    assert conventions.summary(name)
    assert f"\n## {name}\n" in page.read_text(encoding="utf-8")
