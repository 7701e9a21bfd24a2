"""The container files name options, settings and extras that are there. No daemon is needed, and none is asked."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import fields
from typing import Any

import click
import pytest

from dstress.cli.serve import command as serve
from dstress.leaderboard.settings import Settings
from tests.parts import need
from tests.paths import ROOT

VARIABLES = {f"DSTRESS_{field.name.upper()}" for field in fields(Settings)} | {"DSTRESS_HOME", "TMPDIR"}


@pytest.fixture
def compose() -> Any:
    need("yaml")
    import yaml

    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def parses(arguments: list[str]) -> bool:
    """Whether `dstress serve ARGUMENTS` is a call that the command line knows."""
    context = serve.make_context("serve", arguments, resilient_parsing=False)
    rest = [*context._protected_args, *context.args]
    if rest:
        name, below, left = serve.resolve_command(context, rest)
        assert below is not None
        below.make_context(name, left, parent=context)
    return True


def test_every_command_is_one(compose: Any) -> None:
    for service in ("web", "worker"):
        first, *arguments = compose["services"][service]["command"]
        assert first == "serve"
        assert parses(arguments)
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert parses(json.loads(re.findall(r"^CMD (.+)$", dockerfile, re.MULTILINE)[0])[1:])
    with pytest.raises(click.UsageError):
        parses(["--nonsense"])


def test_every_variable_is_a_setting(compose: Any) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    given = set(compose["x-dstress"]["environment"]) | set(re.findall(r"(DSTRESS_\w+)=", dockerfile))
    assert given <= VARIABLES
    assert {"DSTRESS_DATABASE", "DSTRESS_URL", "DSTRESS_FOLDER"} <= given


def test_every_volume_and_service_that_is_named_is_there(compose: Any) -> None:
    services = compose["services"]
    for service in services.values():
        assert {volume.partition(":")[0] for volume in service.get("volumes", [])} <= compose["volumes"].keys()
        assert set(service.get("depends_on", {})) <= services.keys()


def test_the_image_has_what_the_project_offers_and_runs_as_nobody() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    extras = re.findall(r'"\.\[(.+)\]"', dockerfile)[0].split(",")
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras) <= offered.keys()
    copied = {name for line in re.findall(r"^COPY (?!--)(.+)$", dockerfile, re.MULTILINE) for name in line.split()[:-1]}
    assert copied == {"pyproject.toml", "README.md", "LICENSE", "src"}
    assert {f"!{name}" for name in copied} <= set((ROOT / ".dockerignore").read_text().split())
    assert "\nUSER dstress\n" in dockerfile
