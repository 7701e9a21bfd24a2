"""The local viewer: it lists, reports and compares, writes nothing, and shows nothing but runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from dstress.errors import DstressError
from dstress.leaderboard.viewer.shelf import Shelf
from dstress.reports.many_runs import render_many_html, study_runs
from dstress.runs.folder import ORIGINAL, RunFolder
from tests.cli.test_cli import run as call
from tests.leaderboard.browsing import axe_complaints, listening
from tests.parts import need
from tests.paths import SEARCHED
from tests.reports.conftest import corpus, run  # noqa: F401  # pytest finds fixtures by name

HOSTILE = "a <img src=x onerror=alert(1)>&b"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, run: RunFolder) -> Path:  # noqa: F811
    """Three runs, one of them deeper and one with a hostile name; beside them what is no run."""
    folder = tmp_path_factory.mktemp("shelf") / "runs"
    for name in ("first", HOSTILE, "by seed/2"):
        shutil.copytree(run.path, folder / name)
    (folder / "unfinished").mkdir()
    shutil.copy(run.path / "run.toml", folder / "unfinished")
    (folder / "broken").mkdir()
    (folder / "broken" / "run.toml").write_text("x = ")
    (folder / "first" / "nested").mkdir()
    shutil.copy(run.path / "run.toml", folder / "first" / "nested")
    (folder.parent / "secret").mkdir()
    shutil.copytree(run.path, folder.parent / "secret" / "run")
    (folder / "link").symlink_to(folder.parent / "secret", target_is_directory=True)
    return folder


@pytest.fixture
def client(runs: Path) -> Any:
    need("server")
    from fastapi.testclient import TestClient

    from dstress.leaderboard.viewer.app import create_viewer

    return TestClient(create_viewer(runs), base_url="http://127.0.0.1")


def snapshot(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.slow
def test_the_shelf_has_the_runs_of_its_folder_and_nothing_else(runs: Path, run: RunFolder) -> None:  # noqa: F811
    shelf = Shelf(runs)
    assert set(shelf.paths()) == {"first", HOSTILE, "by seed/2", "unfinished", "broken"}
    listed = {one.name: one for one in shelf.list()}
    scores = run.scores
    assert listed["first"].jga == scores.variants["original"]["jga"]
    drops = {name: drop.difference for name, drop in scores.drops.items()}
    assert listed["first"].drop == min(drops.values()) == drops[listed["first"].worst] < 0
    assert listed["first"].failed == sum(scores.failed.values()) > 0
    assert "no scores yet" in listed["unfinished"].problem and "damaged" in listed["broken"].problem


def test_the_folder_may_be_the_run_itself(runs: Path) -> None:
    assert list(Shelf(runs / "first").paths()) == ["first"]


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("scores.json", lambda content: content | {"variants": {}}),
        ("scores.json", lambda content: content | {"variants": []}),
        ("scores.json", lambda content: _set(content, "turns", "many", "variants", "original", "signature")),
        ("scores.json", lambda content: b"\xff\xfe"),
        ("run.toml", lambda content: b"\xff\xfe" + content),
        ("stressed/entities.json", lambda content: content | {"quality": None}),
    ],
)
def test_a_damaged_run_is_a_row_that_says_so(runs: Path, tmp_path: Path, file: str, change: Any) -> None:
    """And a report or a comparison of it is a page that does; the other runs are shown as ever."""
    need("server")
    from fastapi.testclient import TestClient

    from dstress.leaderboard.viewer.app import create_viewer

    for name in ("whole", "hurt"):
        shutil.copytree(runs / "first", tmp_path / name)
    (tmp_path / "hurt" / "report.html").unlink(missing_ok=True)
    before = (tmp_path / "hurt" / file).read_bytes()
    after = change(json.loads(before) if file.endswith(".json") else before)
    (tmp_path / "hurt" / file).write_bytes(after if isinstance(after, bytes) else json.dumps(after).encode())
    listed = {one.name: one for one in Shelf(tmp_path).list()}
    client = TestClient(create_viewer(tmp_path), base_url="http://127.0.0.1")
    pages = [client.get(address) for address in ("/", "/report?run=hurt", "/compare?run=hurt&run=whole")]
    assert listed["whole"].jga and not listed["whole"].problem
    assert pages[0].status_code == 200
    problem = listed["hurt"].problem or "damaged"
    assert listed["hurt"].problem or file.startswith("stressed")
    assert pages[1].status_code == 404 and problem[:20] in pages[1].text
    assert pages[2].status_code in (200, 404)


def _set(content: dict[str, Any], name: str, value: Any, *path: str) -> dict[str, Any]:
    inner = content
    for part in path:
        inner = inner[part]
    inner[name] = value
    return content


def test_a_run_that_is_scored_anew_shows_its_new_numbers(tmp_path: Path, runs: Path) -> None:
    shutil.copytree(runs / "first", tmp_path / "all" / "one")
    shelf = Shelf(tmp_path / "all")
    before = shelf.list()[0].jga
    found = RunFolder.open(tmp_path / "all" / "one")
    scores = found.scores
    scores.variants["original"].metrics["jga"] = scores.variants["original"]["slot-f1"]
    found.write_scores(scores)
    assert shelf.list()[0].jga == scores.variants["original"]["slot-f1"] != before


@pytest.mark.parametrize(
    "name",
    ["../secret/run", "link/run", "first/../../secret/run", "first/nested", "/etc", "", ".", "first\0", "%2e%2e"],
)
def test_no_name_leads_out_of_the_folder(client: Any, runs: Path, name: str) -> None:
    with pytest.raises(DstressError, match="unknown run"):
        Shelf(runs).open(name)
    assert client.get("/report", params={"run": name}).status_code == 404
    assert client.get("/compare", params={"run": [name, "first"]}).status_code == 404
    assert client.get(f"/x{quote(name, safe='')}/run.toml").status_code == 404


@pytest.mark.slow
def test_a_report_that_is_a_link_is_not_followed(tmp_path: Path, runs: Path) -> None:
    shutil.copytree(runs / "first", tmp_path / "all" / "one")
    (tmp_path / "secret").write_text("the secret")
    report = tmp_path / "all" / "one" / "report.html"
    report.unlink(missing_ok=True)
    report.symlink_to(tmp_path / "secret")
    os.utime(tmp_path / "secret", (2**31, 2**31))
    assert "the secret" not in Shelf(tmp_path / "all").report("one")


def test_the_pages_show_names_as_text_and_write_nothing(client: Any, runs: Path) -> None:
    before = snapshot(runs)
    shown = client.get("/")
    assert shown.status_code == 200 and "<img" not in shown.text and "&lt;img src=x" in shown.text
    assert "script-src" not in shown.headers["content-security-policy"]
    report = client.get("/report", params={"run": HOSTILE})
    assert report.status_code == 200 and "sandbox" in report.headers["content-security-policy"]
    compared = client.get("/compare", params={"run": ["first", HOSTILE]})
    assert compared.status_code == 200 and "<img" not in compared.text
    assert snapshot(runs) == before
    for method in ("post", "put", "delete", "patch"):
        assert getattr(client, method)("/").status_code == 405


def test_only_this_machine_s_names_are_answered(client: Any) -> None:
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
    assert client.get("/", headers={"Host": "localhost:8050"}).status_code == 200


@pytest.mark.slow
def test_a_comparison_is_the_page_of_several_runs(client: Any, runs: Path) -> None:
    shown = client.get("/compare", params={"run": ["first", "by seed/2"], "baseline": "by seed/2"})
    study = study_runs([RunFolder.open(runs / "by seed/2"), RunFolder.open(runs / "first")])
    assert shown.text == render_many_html(study) and "Every system minus 2" in shown.text
    assert "sandbox" in shown.headers["content-security-policy"]
    assert client.get("/compare", params={"run": "first"}).status_code == 404


@pytest.mark.slow
def test_an_unfinished_run_says_how_far_it_is_and_its_row_is_fetched_again(
    client: Any, runs: Path, tmp_path: Path
) -> None:
    from fastapi.testclient import TestClient

    from dstress.leaderboard.viewer.app import create_viewer

    assert (
        "refresh.js" not in client.get("/").text
        and "script-src" not in client.get("/").headers["content-security-policy"]
    )
    half = Path(shutil.copytree(runs / "first", tmp_path / "all" / "half"))
    (half / "scores.json").unlink()
    begun = RunFolder.open(half)
    for variant in begun.variants[1:]:
        begun.variant(variant).predictions_path().unlink()
    answered = begun.variant(ORIGINAL).turns
    wanted = answered * len(begun.variants)
    shown = TestClient(create_viewer(tmp_path / "all"), base_url="http://127.0.0.1").get("/")
    assert f"{100 * answered // wanted} % of {wanted:,} turns tracked; last prediction" in shown.text
    assert "data-unfinished" in shown.text and "/refresh.js" in shown.text
    assert "script-src 'self'" in shown.headers["content-security-policy"]


def test_runs_that_cannot_be_tested_stand_side_by_side(client: Any, runs: Path, tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    from dstress.leaderboard.viewer.app import create_viewer

    for name in ("one", "other"):
        shutil.copytree(runs / "first", tmp_path / "all" / name)
    manifest = tmp_path / "all" / "other" / "run.toml"
    manifest.write_text(manifest.read_text().replace("seed = 1", "seed = 2", 1))
    other = TestClient(create_viewer(tmp_path / "all"), base_url="http://127.0.0.1")
    shown = other.get("/compare", params={"run": ["one", "other"]}).text
    assert "they differ in the seed, 1 and 2" in shown and "names cJGA" in shown and "significant" not in shown


def test_the_list_is_found_and_sorted_by_words(client: Any) -> None:
    assert "No run has all of these words" in client.get("/", params={"q": "nothing of it"}).text
    found = client.get("/", params={"q": "SEED shaky", "sort": "name"}).text
    assert "by seed/2" in found and ">first<" not in found


def test_the_command_lists_as_json_and_refuses_a_folder_that_is_not_there(runs: Path, tmp_path: Path) -> None:
    assert '"name": "by seed/2"' in call("view", str(runs), "--json")
    with pytest.raises(DstressError, match="no such folder"):
        call("view", str(tmp_path / "none"))


def test_the_command_serves_on_loopback_and_ends_when_it_is_asked_to(runs: Path) -> None:
    need("server")
    command = [sys.executable, "-m", "dstress", "view", str(runs), "--port", "0"]
    environment = os.environ | {"PYTHONPATH": SEARCHED, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as viewer:
        assert viewer.stdout is not None and viewer.stderr is not None
        told = viewer.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", told)
        assert address, viewer.stderr.read()
        with httpx.Client(transport=httpx.HTTPTransport(retries=20), timeout=60) as client:
            shown = client.get(address[0])
        assert shown.status_code == 200 and "5 runs" in shown.text
        viewer.send_signal(signal.SIGINT)
        assert viewer.wait(20) == 0 and viewer.stderr.read() == ""


@pytest.mark.parametrize("how", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}])
def test_a_person_compares_two_runs_and_opens_a_report(chromium: Any, runs: Path, how: dict[str, Any]) -> None:
    need("server", "axe")
    from dstress.leaderboard.viewer.app import create_viewer

    with listening(create_viewer(runs)) as address:
        tab = chromium.new_context(**how).new_page()
        complaints: list[str] = []
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(address)
        assert axe_complaints(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= tab.viewport_size["width"]
        tab.get_by_label("compare first", exact=True).check()
        tab.get_by_label("compare by seed/2").check()
        tab.get_by_role("button", name="Compare the ticked runs").click()
        assert "2 systems on" in tab.inner_text("h1")
        assert tab.evaluate("document.documentElement.scrollWidth") <= tab.viewport_size["width"]
        tab.go_back()
        tab.get_by_role("link", name="first").click()
        tab.get_by_role("link", name="Examples", exact=True).first.click()
        tab.wait_for_selector("#example header")
        assert complaints == [] and not tab.evaluate("window.hacked")
        tab.context.close()
