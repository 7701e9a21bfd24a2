from __future__ import annotations

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import SpecError
from dstress.pipeline.stress import StressedCorpus, stress
from dstress.stressors import create
from tests.stressors.samples import in_memory


def distract(
    said: str, spec: str = "distractors", seed: int = 1, names: tuple[str, ...] = ("hotel", "taxi")
) -> StressedCorpus:
    services = tuple(Service(name, slots=(Slot("day"),)) for name in names)
    dialogue = Dialogue("d", (Turn(said, state={f"{names[0]}-day": ("friday",)}),), names[:1])
    return stress(in_memory([dialogue], Schema(services)), spec, seed=seed)


def added(stressed: StressedCorpus) -> list[str]:
    own = stressed.original.schema.by_name
    return [service.name for service in stressed.schema.services if service.name not in own]


def test_schema_and_dialogues_get_services_and_nothing_else_changes() -> None:
    stressed = distract("a room on friday")
    [dialogue], [original] = stressed, stressed.original
    assert len(added(stressed)) == 5
    assert dialogue.turns == original.turns
    assert dialogue.services[:1] == original.services and sorted(dialogue.services[1:]) == sorted(added(stressed))
    kept = [service for service in stressed.schema.services if service.name not in added(stressed)]
    assert tuple(kept) == stressed.original.schema.services


def test_a_service_that_somebody_may_mean_is_never_added() -> None:
    everything = "distractors(count=10)"
    with_gym = added(distract("a room on friday", "distractors(count=11)"))
    assert "gym" in with_gym
    assert sorted(added(distract("one with a gym on friday", everything))) == sorted({*with_gym} - {"gym"})
    assert "library" not in added(distract("on friday", everything, names=("hotel", "library")))
    with pytest.raises(SpecError, match="all but 10"):
        distract("one with a gym on friday", "distractors(count=11)")


def test_names_are_written_as_the_corpus_writes_them() -> None:
    assert all(
        name.endswith("_1") and name[0].isupper() for name in added(distract("hi", names=("Hotels_2", "Taxi_1")))
    )
    assert all(name == name.lower() for name in added(distract("hi")))


def test_the_seed_draws() -> None:
    drawn = {tuple(added(distract("hi", seed=seed))) for seed in range(6)}
    assert len(drawn) > 1 and added(distract("hi", seed=3)) == added(distract("hi", seed=3))


def test_new_names_leave_the_added_services_alone() -> None:
    stressed = distract("a room on friday", "distractors+schema_noise")
    [dialogue] = stressed
    assert stressed.stressor.spec == "schema_noise+distractors"
    assert {*dialogue.services} <= stressed.schema.by_name.keys() and dialogue.turns[
        0
    ].state.keys() <= stressed.schema.slots.keys()


@pytest.mark.parametrize("count", [0, 12])
def test_a_count_that_cannot_be_is_refused(count: int) -> None:
    with pytest.raises(SpecError, match="1 to 11"):
        create(f"distractors(count={count})")


def test_the_preview_shows_what_was_added() -> None:
    args = ["stress", "reminder:test", "--with", "distractors", "--limit", "1", "--preview", "1"]
    shown = CliRunner().invoke(cli, args, catch_exceptions=False).stdout
    names = added(stress("reminder:test", "distractors"))
    assert [line.partition(":")[0] for line in shown.splitlines() if ":" in line] == [f"+ {name}" for name in names]
