"""A server for each test, on SQLite and on PostgreSQL, and clients in each role.

`client` is nobody; `member`, `organiser`, `judge`, `worker`, `admin` are signed in; `clients` has them all by role.
`add_client("Ada", Role.JUDGE)` signs another person in. Forms are sent with `client.submit(path, field=value)`, which
adds the token against forged forms; `program(client)` is a client of the API with a token of the same person.
No client starts what the server starts with (workers); a test that needs that says `with client:`.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.postgresql import running_postgresql
from tests.parts import is_there, need

if not is_there("server"):
    collect_ignore_glob = ["test_*.py"]
else:
    import uvicorn
    from fastapi import FastAPI
    from sqlalchemy import create_engine, text

    from dstress.leaderboard.accounts import service as accounts
    from dstress.leaderboard.app import create_app
    from dstress.leaderboard.database import Database
    from dstress.leaderboard.settings import Settings
    from dstress.leaderboard.tables import Role, User
    from tests.leaderboard.clients import Client

PASSWORD = "correct horse battery"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a server with a database `migrated`, of which each test gets a copy."""
    need("postgresql", "psycopg")
    with running_postgresql() as url:
        _execute(url, "CREATE DATABASE migrated")
        database = Database(url.replace("/postgres?", "/migrated?"))
        database.migrate()
        database.close()
        yield url


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables and no rows, of which each test gets a copy."""
    path = tmp_path_factory.mktemp("sqlite") / "migrated.db"
    database = Database(f"sqlite:///{path}")
    database.migrate()
    database.close()
    return path


def _execute(url: str, statement: str) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database with all tables and no rows, of each kind in turn."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "platform.db")
        yield f"sqlite:///{tmp_path / 'platform.db'}"
        return
    server = request.getfixturevalue("postgresql")
    name = f"test{abs(hash(tmp_path)):x}"
    _execute(server, f"CREATE DATABASE {name} TEMPLATE migrated")
    yield server.replace("/postgres?", f"/{name}?")
    _execute(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """The server's settings; a test that needs others replaces this fixture."""
    return Settings(folder=tmp_path / "server", database=database_url, url="http://testserver")


@pytest.fixture
def make_app(settings: Settings) -> Iterator[Callable[..., FastAPI]]:
    """Makes a server; keywords change settings."""
    made: list[FastAPI] = []

    def make(**changes: Any) -> FastAPI:
        made.append(create_app(replace(settings, **changes)))
        return made[-1]

    yield make
    for app in made:
        app.state.database.close()


@pytest.fixture
def app(make_app: Callable[..., FastAPI]) -> FastAPI:
    """The server."""
    return make_app()


@pytest.fixture
def database(app: FastAPI) -> Database:
    """Its database."""
    found = app.state.database
    assert isinstance(found, Database)
    return found


@cache
def password_hash() -> str:
    return accounts.hash_password(PASSWORD)


@pytest.fixture
def add_client(app: FastAPI, database: Database) -> Callable[..., Client]:
    """Makes a person with roles, and a client in which they are signed in."""

    def add(name: str, *roles: Role) -> Client:
        with database.session() as db:
            user = accounts.add_user(db, f"{name.lower()}@example.org", name, *roles)
            user.password_hash = password_hash()
            secret = accounts.begin_session(db, user, days=1)
        return Client(app, user, secret)

    return add


@pytest.fixture
def client(app: FastAPI) -> Client:
    """Nobody."""
    return Client(app)


@pytest.fixture
def member(add_client: Callable[..., Client]) -> Client:
    return add_client("Member")


@pytest.fixture
def organiser(add_client: Callable[..., Client]) -> Client:
    return add_client("Organiser", Role.ORGANISER)


@pytest.fixture
def judge(add_client: Callable[..., Client]) -> Client:
    return add_client("Judge", Role.JUDGE)


@pytest.fixture
def worker(add_client: Callable[..., Client]) -> Client:
    return add_client("Worker", Role.WORKER)


@pytest.fixture
def admin(add_client: Callable[..., Client]) -> Client:
    return add_client("Admin", Role.ADMIN)


@pytest.fixture
def program(database: Database) -> Callable[[Client], Client]:
    """Makes a client of the API with a token of the person who is signed in at another client."""

    def make(of: Client) -> Client:
        assert of.user is not None
        with database.session() as db:
            secret = accounts.make_token(db, db.get_one(User, of.user.id), "test")
        return Client(of.app, of.user, token=secret)

    return make


@pytest.fixture
def site(app: FastAPI) -> Iterator[str]:
    """The server on a port of this machine."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="on"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(20)


@pytest.fixture
def page(chromium: Any, site: str) -> Iterator[Any]:
    with chromium.new_context(base_url=site) as context:
        opened = context.new_page()
        problems: list[str] = []
        opened.on("console", lambda message: message.type == "error" and problems.append(message.text))
        opened.on("pageerror", lambda error: problems.append(str(error)))
        yield opened
        assert [text for text in problems if "403" not in text] == []
