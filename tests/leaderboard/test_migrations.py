"""The tables are what the migrations make, from nothing and from a filled older database, and back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, event, inspect, text

from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.database import Database, migration_config
from dstress.leaderboard.tables import Base, now


def revisions() -> list[str]:
    found = ScriptDirectory.from_config(migration_config()).walk_revisions()
    return [script.revision for script in found][::-1]


def downgrade(database: Database, revision: str) -> None:
    config = migration_config()
    with database.engine.connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)
        connection.commit()


def test_there_is_one_line_of_revisions() -> None:
    assert revisions() == [f"{number:04}" for number in range(4, len(revisions()) + 4)]


def test_the_tables_are_what_the_migrations_make(database_url: str) -> None:
    database = Database(database_url)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    database.close()


def test_a_filled_older_database_keeps_its_rows(database_url: str) -> None:
    """Each revision is reached from the one before it with rows in it, and the last one may be run again."""
    database = Database(database_url)
    downgrade(database, revisions()[0])
    tables = MetaData()
    tables.reflect(database.engine)  # as they were then: classes know the newest columns only
    rows = {
        "users": {"id": 1, "email": "ada@example.org", "name": "Ada", "created_at": now()},
        "teams": {"id": 1, "name": "Ada's", "slug": "ada-s", "created_at": now()},
        "memberships": {"user_id": 1, "team_id": 1, "is_owner": True, "joined_at": now()},
        "tokens": {"user_id": 1, "name": "laptop", "digest": "0" * 64, "hint": "abcd", "created_at": now()},
    }
    with database.engine.begin() as connection:
        for name, row in rows.items():
            connection.execute(tables.tables[name].insert().values(row))
    for revision in [*revisions()[1:], "head"]:
        database.migrate(revision)
    with database.session(write=False) as db:
        assert [found.name for found in accounts.teams_of(db, accounts.find_user(db, "ada@example.org"))] == ["Ada's"]
        assert db.execute(text("select count(*) from tokens where hint = :hint"), {"hint": "abcd"}).scalar() == 1
    database.close()


def test_everything_can_be_taken_away_again(database_url: str) -> None:
    database = Database(database_url)
    downgrade(database, "base")
    assert inspect(database.engine).get_table_names() == ["alembic_version"]
    database.close()


@pytest.mark.parametrize("name", ["platform.db", "folder/with blank/platform.db"])
def test_a_new_folder_is_made(tmp_path: Path, name: str) -> None:
    database = Database(f"sqlite:///{tmp_path / name}")
    database.migrate()
    assert "users" in inspect(database.engine).get_table_names()
    database.close()


def test_all_revisions_are_one_transaction_which_no_other_process_can_come_between(database_url: str) -> None:
    database = Database(database_url)
    downgrade(database, "base")
    commits: list[object] = []
    event.listen(database.engine, "commit", commits.append)
    database.migrate()
    assert len(commits) == 1
    database.close()


@pytest.mark.slow
def test_processes_that_start_together_migrate_once(database_url: str) -> None:
    database = Database(database_url)
    downgrade(database, "base")
    with database.engine.begin() as connection:
        connection.execute(text("drop table alembic_version"))
    command = [sys.executable, "-m", "dstress", "serve", "--database", database_url, "migrate"]
    assert [process.wait() for process in [subprocess.Popen(command) for _ in range(4)]] == [0] * 4
    with database.engine.connect() as connection:
        assert connection.execute(text("select version_num from alembic_version")).all() == [(revisions()[-1],)]
    database.close()
