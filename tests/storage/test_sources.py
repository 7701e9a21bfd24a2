"""Archives come from strangers: each bad one is an ArchiveError that names it, and nothing stays behind."""

from __future__ import annotations

import io
import stat
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dstress.errors import ArchiveError, DstressError
from dstress.storage import sources
from dstress.storage.sources import is_address, is_archive, open_source

CONTENT = {"data/b.json": b'{"b": 1}\n' * 200, "data/a.json": b'{"a": 1}', "c.txt": "fünf".encode()}
TARS = {".tar": "w:", ".tar.gz": "w:gz", ".tgz": "w:gz", ".tar.xz": "w:xz", ".txz": "w:xz", ".tar.bz2": "w:bz2"}
METHODS = {"stored": zipfile.ZIP_STORED, "deflate": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "lzma": 14}
ENDINGS = [*TARS, ".zip"]


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder for temporary files that must be empty again after every test."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


def pack_tar(ending: str, members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=TARS[ending]) as archive:
        for member, data in members:
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def file(name: str, data: bytes = b"{}") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    return member, data


def special(name: str, kind: bytes) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "c.txt"
    return member, b""


def pack_zip(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def pack(ending: str, members: dict[str, bytes] = CONTENT) -> bytes:
    if ending == ".zip":
        return pack_zip(members)
    return pack_tar(ending, [file(name, data) for name, data in members.items()])


def everything(*paths: Path) -> dict[str, bytes]:
    with open_source(*paths) as source:
        return {found.name: found.read() for found in source.files}


def refuse(path: Path, data: bytes, problem: str = "") -> None:
    """The archive must raise an ArchiveError that names the path and the problem."""
    path.write_bytes(data)
    with pytest.raises(ArchiveError) as caught:
        everything(path)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_archive_reads_as_its_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    path.write_bytes(pack(ending))
    assert everything(path) == CONTENT


@pytest.mark.parametrize("method", METHODS)
def test_a_zip_of_any_method_reads(tmp_path: Path, method: str) -> None:
    path = tmp_path / "x.ZIP"
    path.write_bytes(pack_zip(CONTENT, METHODS[method]))
    assert everything(path) == CONTENT


def test_the_content_says_how_a_tar_is_compressed(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(pack(".tar.xz"))
    assert everything(path) == CONTENT


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_archive_cut_anywhere_is_refused(tmp_path: Path, ending: str) -> None:
    whole = pack(ending)
    last = len(whole) if ending != ".tar" else whole.rindex("fünf".encode()) + 512
    for cut in {1, 100, last // 2, 512 * (last // 1024), last - 8, last - 1}:
        refuse(tmp_path / f"x{ending}", whole[:cut], "truncated or damaged")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("data", [b"", b"not an archive", b"<html>404</html>" * 1000])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, ending: str, data: bytes) -> None:
    refuse(tmp_path / f"x{ending}", data, "truncated or damaged")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("members", [{}, {"__MACOSX/x": b"1", ".DS_Store": b"2"}], ids=["nothing", "litter"])
def test_an_archive_without_files_is_refused(tmp_path: Path, ending: str, members: dict[str, bytes]) -> None:
    refuse(tmp_path / f"x{ending}", pack(ending, members), "holds no files")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["../x.json", "a/../../x.json", "/etc/x.json", "..\\x.json", "C:\\x.json"])
def test_a_member_that_leaves_its_folder_is_refused(tmp_path: Path, ending: str, name: str) -> None:
    refuse(tmp_path / f"x{ending}", pack(ending, {name: b"{}"}), "outside the archive's folder")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE]
)
def test_a_member_of_a_tar_that_is_no_file(tmp_path: Path, kind: bytes) -> None:
    path, data = tmp_path / "x.tar", pack_tar(".tar", [file("c.txt"), special("d.txt", kind)])
    if kind == tarfile.CONTTYPE:  # an old word for a plain file
        path.write_bytes(data)
        assert everything(path) == {"c.txt": b"{}", "d.txt": b""}
    else:
        refuse(path, data, "'d.txt' is a link or a device")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_a_member_of_a_zip_that_is_no_file(tmp_path: Path, kind: int) -> None:
    member = zipfile.ZipInfo("link.json")
    member.create_system, member.external_attr = 3, (kind | 0o777) << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(member, "/etc/passwd")
    refuse(tmp_path / "x.zip", out.getvalue(), "'link.json' is a link or a device")


@pytest.mark.parametrize("second", ["a.json", "./a.json"])
def test_a_member_that_is_there_twice(tmp_path: Path, second: str) -> None:
    refuse(tmp_path / "x.tar.gz", pack_tar(".tar.gz", [file("a.json"), file(second)]), "is there twice")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.json", "1")
        archive.writestr(second if second != "a.json" else "b.json", "2")
    refuse(tmp_path / "x.zip", out.getvalue().replace(b"b.json", b"a.json"), "is there twice")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_where_a_folder_should_be(tmp_path: Path, ending: str) -> None:
    path, members = tmp_path / f"x{ending}", {"a": b"1", "a/b": b"2", "A": b"3", "x" * 300: b"4"}
    path.write_bytes(pack(ending, members))
    assert everything(path) == members


def test_an_encrypted_zip(tmp_path: Path) -> None:
    data = bytearray(pack_zip({"a.json": b"{}"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    refuse(tmp_path / "x.zip", bytes(data), "'a.json' is encrypted")


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_archive_that_grows_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(sources, "_FREE_RATIO", 1 << 20)
    monkeypatch.setattr(sources, "MAX_UNPACKED", 2 << 20)
    refuse(tmp_path / f"x{ending}", pack(ending, {"a.json": bytes(3 << 20)}), "unpacks to more than")


def test_a_bomb_in_litter_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_FREE_RATIO", 1 << 20)
    data = pack(".tar.gz", {"__MACOSX/a": bytes(9 << 20), "b.json": b"{}"})
    refuse(tmp_path / "x.tar.gz", data, "unpacks to more than")


def sparse(real: int, ending: str) -> bytes:
    """A tar that says of one byte that it lies at the end of a file of that size."""
    member, data = file("a.json", (b"1\n%d\n1\n" % (real - 1)).ljust(512, b"\0") + b"x")
    member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "a.json"}
    member.pax_headers["GNU.sparse.realsize"] = str(real)
    return pack_tar(ending, [(member, data)])


@pytest.mark.parametrize("ending", TARS)
def test_a_sparse_member_counts_for_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(sources, "_FREE_RATIO", 1 << 20)
    monkeypatch.setattr(sources, "MAX_UNPACKED", 2 << 20)
    refuse(tmp_path / f"x{ending}", sparse(1 << 31, ending), "unpacks to more than")
    (tmp_path / f"y{ending}").write_bytes(sparse(5000, ending))
    assert everything(tmp_path / f"y{ending}") == {"a.json": bytes(4999) + b"x"}


@pytest.mark.parametrize("ending", [".tar.gz", ".zip"])
def test_a_swarm_of_empty_members_is_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(sources, "_FREE_RATIO", 1 << 20)
    monkeypatch.setattr(sources, "MAX_UNPACKED", 1 << 20)
    refuse(tmp_path / f"x{ending}", pack(ending, {f"{n}.json": b"" for n in range(300)}), "unpacks to more than")


def test_members_that_share_their_bytes_count_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many entries of a zip's list may point to one piece of data."""
    monkeypatch.setattr(sources, "_FREE_RATIO", 1 << 20)
    data = pack_zip({"0.json": bytes(1 << 19)})
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entries = b"".join(data[start:end].replace(b"0.json", b"%d.json" % n) for n in range(9))
    tail = struct.pack("<HHIIH", 9, 9, len(entries), start, 0)
    refuse(tmp_path / "x.zip", data[:start] + entries + data[end : end + 8] + tail, "unpacks to more than")


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_archive_in_an_archive_stays_packed(tmp_path: Path, ending: str) -> None:
    inner = pack(".zip")
    (tmp_path / f"x{ending}").write_bytes(pack(ending, {"inner.zip": inner}))
    assert everything(tmp_path / f"x{ending}") == {"inner.zip": inner}


@pytest.mark.parametrize("ending", ENDINGS)
def test_dialogue_data_is_no_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(sources, "_FREE_RATIO", 0)
    path = tmp_path / f"x{ending}"
    path.write_bytes(pack(ending))
    assert everything(path) == CONTENT


@pytest.mark.parametrize("method", METHODS)
def test_a_zip_member_that_claims_less_than_it_holds(tmp_path: Path, method: str) -> None:
    data = bytearray(pack_zip({"a.json": bytes(1 << 20)}, METHODS[method]))
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 10)
    refuse(tmp_path / "x.zip", bytes(data), "truncated or damaged")


def sized(data: bytes, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """The tar with its first header saying another size and type, under a right checksum."""
    head = bytearray(data[:512])
    head[124:136] = tarfile.itn(size, 12, tarfile.GNU_FORMAT)
    head[156:157] = kind
    head[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(head))[0]
    return bytes(head) + data[512:]


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, b"?"])
@pytest.mark.parametrize("size", [-512, -1024, 1 << 33])
def test_a_tar_header_that_lies(tmp_path: Path, kind: bytes, size: int) -> None:
    # Negative sizes make tarfile loop for ever (CVE-2025-8194), large ones fill the memory.
    refuse(tmp_path / "x.tar", sized(pack(".tar"), size, kind))


def test_a_damaged_header_is_not_the_end(tmp_path: Path) -> None:
    data = bytearray(pack(".tar"))
    data[data.index(b"data/a.json")] ^= 1
    refuse(tmp_path / "x.tar", bytes(data), "no mark of the end")


def test_a_wrong_checksum_at_the_very_end(tmp_path: Path) -> None:
    data = bytearray(pack(".tar.gz"))
    data[-6] ^= 1
    refuse(tmp_path / "x.tar.gz", bytes(data), "CRC check failed")


def test_a_folder_opens_the_archives_in_it_and_leaves_litter_out(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for name, data in {"a.json": b"1", ".git/x": b"2", "__MACOSX/y": b"3", "in/x.zip": pack(".zip")}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    assert everything(folder) == {"a.json": b"1"} | {f"in/x.zip/{name}": data for name, data in CONTENT.items()}


def test_a_bad_archive_in_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.tar.gz").write_bytes(b"no")
    with pytest.raises(ArchiveError, match=r"bad\.tar\.gz: the archive is truncated"):
        everything(tmp_path)


def test_two_files_of_one_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_bytes(b"{}")
    with pytest.raises(ArchiveError, match=r"two files are called 'x\.json'"):
        everything(tmp_path / "a", tmp_path / "b")


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match=r"nothing\.json: no such file"):
        everything(tmp_path / "nothing.json")


def test_names_labels_and_folders(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(pack(".tar.gz", {"./data/B.json": b"12\n34", "c.txt": b""}))
    with open_source(path) as source:
        [found] = source.named("b.JSON")
        assert (found.name, found.stem, found.folder) == ("data/B.json", "B.json", "data")
        assert found.label == f"{path}:./data/B.json"
        assert source.ending(".json") == [found]
        assert (list(found.lines()), found.head(3)) == ([b"12\n", b"34"], b"12\n")


def test_addresses_and_archives_by_name() -> None:
    assert is_address("https://x.org/a.zip")
    assert not is_address("data/a.zip")
    assert is_archive(Path("A.TAR.XZ"))
    assert not is_archive(Path("a.json"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(ENDINGS),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=5),
    st.floats(0, 1),
)
def test_a_damaged_archive_reads_or_is_refused(
    tmp_path: Path, ending: str, flips: list[tuple[float, int]], keep: float
) -> None:
    data = bytearray(pack(ending))
    for place, byte in flips:
        data[int(place * len(data))] = byte
    (tmp_path / f"x{ending}").write_bytes(data if keep > 0.5 else data[: int(keep * 2 * len(data))])
    try:
        everything(tmp_path / f"x{ending}")
    except DstressError as error:
        assert f"x{ending}" in str(error)


@pytest.mark.parametrize(
    "read", [lambda found: found.read(), lambda found: found.head(), lambda found: [*found.lines()]]
)
def test_every_way_to_read_explains_damage(tmp_path: Path, read: Callable[[sources.SourceFile], object]) -> None:
    data = bytearray(pack_zip({"a.json": b"x" * 50}, zipfile.ZIP_STORED))
    data[40] ^= 1
    (tmp_path / "x.zip").write_bytes(data)
    with open_source(tmp_path / "x.zip") as source, pytest.raises(ArchiveError, match=r"x\.zip:a\.json"):
        read(source.files[0])
