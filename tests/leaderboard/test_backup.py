"""A backup brings everything back, also into the other kind of database; a damaged one brings nothing."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Row, insert, select

from dstress.errors import DstressError
from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.backup import back_up, restore
from dstress.leaderboard.database import Database
from dstress.leaderboard.files import Folder
from dstress.leaderboard.tables import Base, Role, User, now


@pytest.fixture
def filled(database_url: str, tmp_path: Path) -> tuple[Database, Folder]:
    database, files = Database(database_url), Folder(tmp_path / "files")
    with database.session() as db:
        many = [{"email": f"p{n}@example.org", "name": f"Zoë {n} 'q' \"d\"", "created_at": now()} for n in range(599)]
        db.execute(insert(User), many)
        user = accounts.add_user(db, "last@example.org", "Last", Role.JUDGE)
        accounts.make_team(db, user, "Mine")
        accounts.make_token(db, user, "laptop")
        accounts.set_roles(db, user, {Role.ADMIN, Role.WORKER}, None)
    files.save("submissions/1/a.zip", io.BytesIO(bytes(range(256))))
    return database, files


def rows(database: Database) -> dict[str, list[Row[Any]]]:
    with database.session(write=False) as db:
        tables = Base.metadata.sorted_tables
        return {table.name: list(db.execute(select(table).order_by(*table.primary_key))) for table in tables}


@pytest.fixture
def empty(migrated_sqlite: Path, tmp_path: Path) -> Database:
    return Database(f"sqlite:///{tmp_path / 'other' / 'restored.db'}")


def test_everything_comes_back(filled: tuple[Database, Folder], empty: Database, tmp_path: Path) -> None:
    database, files = filled
    seen: list[tuple[str, int]] = []
    made = back_up(database, files, tmp_path / "b.zip", lambda *step: seen.append(step))
    restored = Folder(tmp_path / "restored")
    assert restore(empty, restored, tmp_path / "b.zip") == made
    assert (made.rows["users"], made.rows["teams"], made.files) == (600, 1, 1)
    assert ("users", 600) in seen
    assert rows(empty) == rows(database)
    with restored.open("submissions/1/a.zip") as stream:
        assert stream.read() == bytes(range(256))
    with empty.session() as db:  # numbers go on where they were
        assert accounts.add_user(db, "new@example.org", "New").id == 601
    database.close()
    empty.close()


def test_from_sqlite_into_whatever_there_is(
    filled: tuple[Database, Folder], migrated_sqlite: Path, tmp_path: Path
) -> None:
    """Backed up from SQLite, restored into each kind of database, which is emptied first."""
    database, _ = filled
    Base.metadata.drop_all(database.engine)
    shutil.copy(migrated_sqlite, tmp_path / "source.db")
    source = Database(f"sqlite:///{tmp_path / 'source.db'}")
    with source.session() as db:
        user = accounts.add_user(db, "ada@example.org", "Ada", Role.ADMIN)
        accounts.make_team(db, user, "Mine")
    back_up(source, Folder(tmp_path / "none"), tmp_path / "b.zip")
    with database.engine.begin() as connection:
        connection.exec_driver_sql("drop table alembic_version")
    restore(database, Folder(tmp_path / "new"), tmp_path / "b.zip")
    assert rows(database) == rows(source)
    with database.session() as db:
        assert accounts.add_user(db, "new@example.org", "New").id == 2
    source.close()
    database.close()


def test_a_server_with_rows_or_files_is_left_alone(filled: tuple[Database, Folder], tmp_path: Path) -> None:
    database, files = filled
    back_up(database, files, tmp_path / "b.zip")
    before = rows(database)
    with pytest.raises(DstressError, match="files already"):
        restore(database, files, tmp_path / "b.zip")
    with pytest.raises(DstressError, match="rows in"):
        restore(database, Folder(tmp_path / "new"), tmp_path / "b.zip")
    assert rows(database) == before
    database.close()


def damage(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _replace(members: dict[str, bytes], name: str, old: bytes, new: bytes) -> None:
    assert old in members[name]
    members[name] = members[name].replace(old, new)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda members: members.pop("manifest.json"), "no backup"),
        (lambda members: members.update({"manifest.json": b"{"}), "damaged"),
        (lambda members: members.update({"manifest.json": b'{"format": 9, "dstress": "9"}'}), "newer"),
        (lambda members: members.update({"tables/users.jsonl": b'{"id": 1, "na'}), "damaged"),
        (lambda members: members.update({"tables/users.jsonl": b"[" * 100_000}), "damaged"),
        (lambda members: _replace(members, "tables/users.jsonl", b'"id":1,', b'"id":%d,' % 10**30), "damaged"),
        (lambda members: members.update({"files/../../x": b"x"}), "no file can be called"),
        (lambda members: members.update({"manifest.json": b'{"format": 1, "dstress": "9"}'}), "damaged"),
        (lambda members: members.pop("tables/users.jsonl"), "damaged"),
        (lambda members: members.update({"tables/users.jsonl": b""}), "damaged"),
        (lambda members: members.pop("files/submissions/1/a.zip"), "damaged"),
        (lambda members: _replace(members, "tables/users.jsonl", b'"created_at":"2', b'"created_at":"x'), "damaged"),
        (lambda members: _replace(members, "tables/users.jsonl", b'"name"', b'"nom"'), "damaged"),
        (lambda members: _replace(members, "tables/memberships.jsonl", b'"team_id":1', b'"team_id":9'), "damaged"),
        (lambda members: _replace(members, "manifest.json", b'"revision": "', b'"revision": "x'), "newer"),
    ],
)
def test_a_damaged_backup_is_told(
    filled: tuple[Database, Folder], empty: Database, tmp_path: Path, change: Any, problem: str
) -> None:
    database, files = filled
    back_up(database, files, tmp_path / "b.zip")
    shutil.copy(tmp_path / "b.zip", tmp_path / "good.zip")
    damage(tmp_path / "b.zip", change)
    with pytest.raises(DstressError, match=problem):
        restore(empty, Folder(tmp_path / "new"), tmp_path / "b.zip")
    assert not (tmp_path / "x").exists()
    restore(empty, Folder(tmp_path / "new"), tmp_path / "good.zip")  # nothing was left behind
    assert rows(empty) == rows(database)
    database.close()
    empty.close()


def test_a_flipped_bit_of_a_file_is_told_before_anything_is_written(
    filled: tuple[Database, Folder], empty: Database, tmp_path: Path
) -> None:
    database, files = filled
    files.save("submissions/2/b.zip", io.BytesIO(bytes(100_000)))
    back_up(database, files, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        member = archive.getinfo("files/submissions/2/b.zip")
    content = bytearray((tmp_path / "b.zip").read_bytes())
    content[member.header_offset + 30 + len(member.filename) + 30] ^= 1
    (tmp_path / "b.zip").write_bytes(content)
    with pytest.raises(DstressError, match="damaged"):
        restore(empty, Folder(tmp_path / "new"), tmp_path / "b.zip")
    assert not list(Folder(tmp_path / "new").names())
    assert not (tmp_path / "other" / "restored.db").exists()
    database.close()
    empty.close()


def test_a_restore_that_is_cut_short_leaves_nothing(
    filled: tuple[Database, Folder], empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, files = filled
    files.save("submissions/2/b.zip", io.BytesIO(b"b"))
    back_up(database, files, tmp_path / "b.zip")
    restored = Folder(tmp_path / "new")

    def save(name: str, content: Any) -> None:
        if name.startswith("submissions/2"):
            raise OSError("the disk is full")
        Folder.save(restored, name, content)

    with monkeypatch.context() as patch, pytest.raises(OSError, match="full"):
        patch.setattr(restored, "save", save)
        restore(empty, restored, tmp_path / "b.zip")
    restore(empty, restored, tmp_path / "b.zip")
    assert rows(empty) == rows(database)
    database.close()
    empty.close()


def test_what_is_no_zip_is_told(empty: Database, tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(b"PK not quite")
    with pytest.raises(DstressError, match="damaged"):
        restore(empty, Folder(tmp_path / "new"), tmp_path / "b.zip")
    empty.close()
