"""`make load`: a server under submitters and readers, and what is left when server and worker are killed under them.

Each submitter hands its answers in one after the other, each reader opens a page and pauses. Then everything that was
accepted must be scored, once. With `--kill` the server and its workers are killed (-9) and started again meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from sqlalchemy import func, select, update

from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.database import Database
from dstress.leaderboard.files import open_files
from dstress.leaderboard.settings import Settings, read_settings
from dstress.leaderboard.tables import DONE, WAITING, Benchmark, StoredResult, Submission
from tests.fakes.postgresql import running_postgresql

SUBMITTERS, SUBMISSIONS, READERS = 50, 20, 200
_PAUSE = 10.0
"""Seconds that a reader looks at a page, on average; with 200 readers about 20 pages are asked for in a second."""
_PAGES = re.compile(r'href="(/benchmarks/[a-z0-9-]+/history|/systems/\d+)"')
"""What readers find on the board beside the board itself."""


@dataclass
class Load:
    """What is asked of a server, and what came of it."""

    submitters: int
    submissions: int
    readers: int
    kills: int = 0
    accepted: set[int] = field(default_factory=set)
    pages: list[float] = field(default_factory=list)
    uploads: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0
    """Until all was handed in."""
    scored: float = 0.0
    """Until all was scored."""
    is_over: bool = False


class Server:
    """`dstress serve` as a process of its own, with all that it starts; its log is kept."""

    def __init__(self, settings: Settings, port: int, log: Path, workers: int) -> None:
        self.url, self.log = f"http://127.0.0.1:{port}", log
        options = ["--port", str(port), "--folder", str(settings.folder), "--workers", str(workers)]
        options += ["--database", settings.database] if settings.database else []
        self.command = [sys.executable, "-m", "dstress", "serve", *options]
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stderr=log, start_new_session=True)
        try:
            while True:
                try:
                    httpx.get(f"{self.url}/healthz", timeout=5).raise_for_status()
                    return
                except httpx.HTTPError:
                    if self.process.poll() is not None:
                        raise RuntimeError(self.log.read_text()[-2000:]) from None
                    time.sleep(0.05)
        except BaseException:  # whoever stops the load stops its server too
            self.process.terminate()
            raise

    def kill(self) -> None:
        """Kill -9 the workers and the server, as a power cut would."""
        for child in _children(self.process.pid):
            os.kill(child, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(120)


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


async def submit(load: Load, client: httpx.AsyncClient, slug: str, token: str, answers: list[bytes]) -> None:
    """One submitter: after a broken connection the same answers again, which are refused if they had arrived."""
    headers = {"Authorization": f"Bearer {token}"}
    for content in answers:
        while True:
            begun = time.perf_counter()
            form = {"files": {"answers": ("answers.jsonl", content)}, "data": {"system": "load"}, "headers": headers}
            try:
                answer = await client.post(f"/api/v1/benchmarks/{slug}/submissions", **form)  # type: ignore[arg-type]
            except httpx.TransportError as error:
                if not load.kills:
                    load.errors.append(f"submission: {error!r}")
                    break
                await asyncio.sleep(0.5)
                continue
            load.uploads.append(time.perf_counter() - begun)
            again = re.search(r"answers of submission (\d+)", answer.text)
            if answer.status_code == 201:
                load.accepted.add(answer.json()["id"])
            elif again and load.kills:
                load.accepted.add(int(again[1]))
            else:
                load.errors.append(f"submission: {answer.status_code} {answer.text[:200]}")
            break


async def read(load: Load, client: httpx.AsyncClient, pages: list[str], chance: random.Random) -> None:
    """One reader: a page, a pause, another page, until the submitters are done."""
    await asyncio.sleep(chance.uniform(0, _PAUSE))
    while not load.is_over:
        page, begun = chance.choice(pages), time.perf_counter()
        try:
            answer = await client.get(page)
            load.pages.append(time.perf_counter() - begun)
            if answer.status_code != 200:
                load.errors.append(f"{page}: {answer.status_code}")
        except httpx.TransportError as error:
            if not load.kills:
                load.errors.append(f"{page}: {error!r}")
        await asyncio.sleep(chance.uniform(0, 2 * _PAUSE))


async def drive(load: Load, server: Server, slug: str, tokens: dict[str, list[bytes]]) -> None:
    """All of them at once."""
    first = httpx.get(f"{server.url}/").text
    board = httpx.get(f"{server.url}/benchmarks/{slug}").text
    pages = sorted({"/", "/login", f"/benchmarks/{slug}", *_PAGES.findall(first + board)})
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    begun = time.perf_counter()
    async with httpx.AsyncClient(base_url=server.url, timeout=120, limits=limits) as client:
        readers = [asyncio.create_task(read(load, client, pages, random.Random(n))) for n in range(load.readers)]
        submitters = [asyncio.create_task(submit(load, client, slug, *one)) for one in tokens.items()]
        for _ in range(load.kills):
            await asyncio.sleep(4)
            server.kill()
            await asyncio.to_thread(server.start)
        await asyncio.gather(*submitters)
        load.seconds, load.is_over = time.perf_counter() - begun, True
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)


def prepare(settings: Settings, load: Load) -> tuple[str, dict[str, list[bytes]]]:
    """The example benchmark without a daily limit, and for each submitter a token and answers like nobody else's."""
    database = Database(settings.database_url)
    while True:
        with database.session() as db:
            benchmark = db.scalar(select(Benchmark).where(Benchmark.state == DONE))
            if benchmark:
                db.execute(update(Benchmark).values(daily_limit=100_000))
                file = db.scalars(select(Submission.file).order_by(Submission.id)).first() or ""
                break
        time.sleep(0.2)
    with open_files(settings).open(file) as stream:
        lines = [json.loads(line) for line in stream]
    tokens = {}
    with database.session() as db:
        for number in range(load.submitters):
            user = accounts.add_user(db, f"load{number}@example.org", f"Load {number}")
            accounts.make_team(db, user, f"Load {number}")
            token = accounts.make_token(db, user, "load")
            tokens[token] = [_spoil(lines, random.Random(f"{number}/{n}")) for n in range(load.submissions)]
    database.close()
    return benchmark.slug, tokens


def _spoil(lines: list[dict[str, object]], chance: random.Random) -> bytes:
    """Answers of which some are lost, so that no two files are near copies."""
    spoiled = [line | {"state": {}} if "state" in line and chance.random() < 0.3 else line for line in lines]
    return "\n".join(map(json.dumps, spoiled)).encode()


def await_scores(settings: Settings) -> None:
    """Wait until nothing waits to be scored."""
    database = Database(settings.database_url)
    waiting = select(func.count()).select_from(Submission).where(Submission.state == WAITING)
    while True:
        with database.session(write=False) as db:
            if not db.scalar(waiting):
                break
        time.sleep(0.5)
    database.close()


def check(settings: Settings, load: Load, log: str) -> list[str]:
    """What is wrong afterwards: an error, something lost, scored twice, or not at all."""
    database = Database(settings.database_url)
    with database.session(write=False) as db:
        states = {row.id: row.state for row in db.scalars(select(Submission))}
        results = set(db.scalars(select(StoredResult.submission_id)))
    database.close()
    wrong = list(load.errors)
    asked = load.submitters * load.submissions
    wrong += [f"{len(load.accepted)} of {asked} accepted"] if len(load.accepted) != asked else []
    done = Counter(map(int, re.findall(r"job submissions (\d+) done", log)))
    for number in sorted(load.accepted):
        if states.get(number) != DONE or number not in results:
            wrong.append(f"submission {number}: {states.get(number, 'lost')}")
        if done[number] > 1:
            wrong.append(f"submission {number} scored {done[number]} times")
    return wrong


def run_load(load: Load, folder: Path, port: int, database: str = "", workers: int = 1) -> list[str]:
    """Start a server, put the load on it, stop it, and say what is wrong; nothing, if all is well."""
    settings = read_settings(folder=folder / "server", database=database)
    server = Server(settings, port, folder / "log", workers)
    try:
        slug, tokens = prepare(settings, load)
        begun = time.perf_counter()
        asyncio.run(drive(load, server, slug, tokens))
        await_scores(settings)
        load.scored = time.perf_counter() - begun
    finally:
        server.stop()
    return check(settings, load, (folder / "log").read_text())


def percentile(times: list[float], share: float) -> float:
    """The time within which a share of the requests was answered, in milliseconds."""
    return 1000 * sorted(times)[min(int(share * len(times)), len(times) - 1)] if times else 0.0


def show(load: Load, wrong: list[str]) -> None:
    """The figures, in the words of docs/platform/load.md."""
    rate = len(load.pages) / load.seconds
    print(f"submitters {load.submitters} x {load.submissions}, readers {load.readers}, kills {load.kills}")
    print(f"accepted {len(load.accepted)} submissions in {load.seconds:.0f} s, {len(wrong)} problems")
    print(f"all of them scored {load.scored - load.seconds:.0f} s later")
    print(f"uploads: median {percentile(load.uploads, 0.5):.0f} ms, p95 {percentile(load.uploads, 0.95):.0f} ms")
    median, late = percentile(load.pages, 0.5), percentile(load.pages, 0.95)
    print(
        f"pages: {load.readers / _PAUSE:.1f} a second meant, {rate:.1f} came, median {median:.0f} ms, p95 {late:.0f} ms"
    )
    for line in wrong[:20]:
        print(f"  {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the submitters and readers: 0.1 is a tenth")
    parser.add_argument("--kill", type=int, default=0, metavar="N", help="kill server and workers N times")
    parser.add_argument("--database", default="", help="a database's address; default: SQLite")
    parser.add_argument("--workers", type=int, default=1, help="processes that score beside the server")
    parser.add_argument("--port", type=int, default=8321)
    parser.add_argument(
        "--postgresql", action="store_true", help="on a PostgreSQL server of its own, in place of --database"
    )
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # through the lines that stop the server
    load = Load(max(1, round(SUBMITTERS * given.share)), SUBMISSIONS, round(READERS * given.share), given.kill)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dstress-load-")))
        database = stack.enter_context(running_postgresql()) if given.postgresql else given.database
        print(f"{database.partition(':')[0] or 'sqlite'}, {os.cpu_count()} cores, {platform.machine()}")
        wrong = run_load(load, folder, given.port, database, given.workers)
    show(load, wrong)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
