from __future__ import annotations

import pytest

from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import SpecError
from dstress.pipeline.stress import stress
from dstress.stressors import create
from dstress.stressors.speech.sounds import sound_of
from tests.stressors.samples import in_memory, sample

SCHEMA = Schema((Service("restaurant", slots=(Slot("name"), Slot("food"))),))


def mishear(name: str, *others: str, spec: str = "phonetic_names", seed: int = 1) -> Turn:
    """A turn that says a name, in a corpus that has other names too."""
    said = [
        Dialogue(str(number), (Turn(f"a table at {one} please", state={"restaurant-name": (one,)}),))
        for number, one in enumerate((name, *others))
    ]
    return next(iter(stress(in_memory(said, SCHEMA), spec, seed=seed))).turns[0]


@pytest.mark.parametrize("seed", range(10))
def test_only_the_name_changes_and_the_label_stays(seed: int) -> None:
    turn = mishear("kymmoy", seed=seed)
    assert turn.user.startswith("a table at ") and turn.user.endswith(" please") and "kymmoy" not in turn.user
    assert turn.state == {"restaurant-name": ("kymmoy",)}


def test_what_only_says_what_it_is_stays() -> None:
    heard = {mishear("the bridgetrain restaurant", seed=seed).user for seed in range(10)}
    assert len(heard) > 1
    assert all(user.startswith("a table at the ") and user.endswith(" restaurant please") for user in heard)


def test_an_unknown_word_is_written_as_it_sounds_or_in_pieces() -> None:
    heard = {mishear("bridgetrain", seed=seed).user[11:-7] for seed in range(40)}
    assert "bridge train" in heard
    assert any(sound_of(name) == sound_of("bridgetrain") for name in heard)


def test_a_word_that_recognisers_know_is_never_misspelt() -> None:
    heard = {mishear("technology", seed=seed).user[11:-7] for seed in range(40)}
    assert all(sound_of(name) != sound_of("technology") for name in heard - {"technology"})


def test_a_name_is_recoverable_while_no_other_sounds_more_like_what_was_heard() -> None:
    heard = {mishear("stansted", "pizza hut", seed=seed).user[11:-7]: seed for seed in range(20)}
    assert "started" in heard
    for rivals, tag in ((["pizza hut"], "recoverable"), (["pizza hut", "started"], "lost")):
        turn = mishear("stansted", *rivals, seed=heard["started"])
        assert turn.user == "a table at started please"
        assert turn.stress and turn.stress.tags == (tag,)


def test_the_rate_is_a_share_of_the_names() -> None:
    corpus = sample("reminder", None, 60)
    changed = [
        sum(turn.changed for dialogue in stress(corpus, spec) for turn in dialogue.turns)
        for spec in ("phonetic_names(rate=0.3)", "phonetic_names")
    ]
    assert 0 < changed[0] < changed[1]


@pytest.mark.parametrize("rate", [0, 1.5])
def test_a_rate_that_is_no_share_is_refused(rate: float) -> None:
    with pytest.raises(SpecError, match="no share"):
        create(f"phonetic_names(rate={rate})")
