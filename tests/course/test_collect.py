"""From the downloads of three systems into the course's folder."""

import contextlib
import errno
import json
import os
import stat
import tracemalloc
import zipfile
from datetime import UTC, datetime

import nbformat
import pytest
from click.testing import CliRunner

from autolab.cli.group import group
from autolab.course import collect as collecting
from autolab.course import downloads
from autolab.course.collect import collect, due_dates, remember_people
from autolab.course.downloads import opened
from autolab.course.grading.gradebook import CourseGradebook
from autolab.course.notebook import build
from autolab.course.roster import parse_time, read_roster

TEXT = "\n".join(f"```python answer {{0}}-{i}\n### BEGIN SOLUTION\nx = {i}\n### END SOLUTION\n```\n" for i in range(4))
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,ps1 (9)\n    Points Possible,,,,,10\n"
CANVAS += '"Lovelace, Ada",17,S1,ada,1,\n"Curie, Marie",18,S2,marie,1,\n"Student, Test",99,,abc,1,\n'
METADATA = """
submission_5:
  :submitters:
  - :name: Ada Lovelace
    :sid: S1
    :email: ada@uni.edu
  - :name: Marie Curie
    :sid: S2
    :email: marie@uni.edu
  :created_at: 2026-11-21 18:00:00.5 -08:00
  :score: 3.0
"""


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory):
    """Two notebooks of two assignments, as bytes; and the course that they are of."""
    root = tmp_path_factory.mktemp("made")
    for name, stem in (("ps1", "sums"), ("ps2", "rules")):
        (root / "text" / name).mkdir(parents=True)
        (root / "text" / name / f"{stem}.md").write_text(TEXT.format(stem))
    build(root)
    return root, {stem: next(root.glob(f"source/*/{stem}.ipynb")).read_bytes() for stem in ("sums", "rules")}


@pytest.fixture
def course(notebooks, tmp_path):
    root = tmp_path / "course"
    (root).mkdir()
    (root / "source").symlink_to(notebooks[0] / "source")
    return root


@pytest.fixture
def sums(notebooks):
    return notebooks[1]["sums"]


@pytest.fixture
def rules(notebooks):
    return notebooks[1]["rules"]


def zipped(tmp_path, files, name="download.zip"):
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return tmp_path / name


def roster(tmp_path, text):
    (tmp_path / "roster.csv").write_text(text, "utf-8")
    return read_roster(tmp_path / "roster.csv")


def files(course):
    return sorted(p.relative_to(course).as_posix() for p in course.rglob("*") if p.is_file() and "source" not in p.parts)


def test_canvas_names_are_taken_apart_and_logins_come_from_the_roster(course, tmp_path, sums, rules):
    names = {"lovelaceada_LATE_17_400_sums-2.ipynb": sums, "curiemarie_18_401_final version (1).ipynb": rules}
    done = collect(course, zipped(tmp_path, names), "canvas", roster(tmp_path, CANVAS), {"ps1": datetime(2026, 11, 21, 18, tzinfo=UTC)})
    assert files(course) == ["submitted/ada/ps1/sums.ipynb", "submitted/ada/ps1/timestamp.txt", "submitted/marie/ps2/rules.ipynb"]
    assert (course / "submitted/ada/ps1/timestamp.txt").read_text() == "2026-11-21 18:00:01 UTC\n"
    assert (done.new, done.unmatched, done.notes) == ({"ps1": ["ada"], "ps2": ["marie"]}, [], [])


def test_without_a_roster_a_folder_has_the_name_and_the_number_of_canvas(course, tmp_path, sums):
    done = collect(course, zipped(tmp_path, {"lovelaceada_LATE_17_400_sums.ipynb": sums}), "canvas")
    assert files(course) == ["submitted/lovelaceada-17/ps1/sums.ipynb"]
    assert "give --due" in done.notes[0]


@pytest.mark.parametrize("path", ["Ada Lovelace_7_assignsubmission_file_/a b.ipynb", "x/Ada Lovelace_7_assignsubmission_file/a.ipynb",
                                  "Ada Lovelace_7_assignsubmission_file_sums.ipynb"])  # fmt: skip
def test_each_form_of_moodles_names_is_read(course, tmp_path, sums, path):
    worksheet = 'Identifier,Full name,ID number,Email address,Last modified (submission)\nParticipant 7,Ada Lovelace,ada,ada@uni.edu,"{}"\n'
    worksheet = worksheet.format("Saturday, 21 November 2026, 6:00 PM")
    collect(course, zipped(tmp_path, {path: sums}), "moodle", roster(tmp_path, worksheet))
    assert files(course) == ["submitted/ada/ps1/sums.ipynb", "submitted/ada/ps1/timestamp.txt"]
    assert parse_time((course / "submitted/ada/ps1/timestamp.txt").read_text()) == parse_time("2026-11-21 18:00")


def test_gradescopes_metadata_says_whose_it_is_and_when(course, tmp_path, sums):
    export = {"e/submission_metadata.yml": METADATA, "e/submission_5/sums.ipynb": sums, "e/submission_6/sums.ipynb": sums}
    done = collect(course, zipped(tmp_path, export), "gradescope")
    assert files(course) == [f"submitted/{s}/ps1/{name}" for s in ("S1", "S2") for name in ("sums.ipynb", "timestamp.txt")]
    assert (course / "submitted/S1/ps1/timestamp.txt").read_text() == "2026-11-22 02:00:00 UTC\n"
    assert done.notes == ["e/submission_6/sums.ipynb: submission_metadata.yml does not say whose it is"]


def test_a_folder_for_each_student_with_its_times(course, tmp_path, sums):
    inbox = tmp_path / "inbox"
    (inbox / "ada" / "deep").mkdir(parents=True)
    (inbox / "ada" / "deep" / "what.ipynb").write_bytes(sums)
    (inbox / "ada" / "deep" / "timestamp.txt").write_text("2026-11-21 18:00:00 UTC")
    (inbox / "loose.ipynb").write_bytes(sums)
    done = collect(course, inbox, "folder")
    assert files(course) == ["submitted/ada/ps1/sums.ipynb", "submitted/ada/ps1/timestamp.txt"]
    assert done.notes == ["loose.ipynb is in no student's folder"]


def test_the_newest_of_several_counts_and_the_others_are_named(course, tmp_path, sums):
    newer = sums.replace(b"x = 0", b"x = 9")
    names = {"lovelaceada_17_399_sums.ipynb": sums, "lovelaceada_17_1000_sums.ipynb": newer}
    done = collect(course, zipped(tmp_path, names), "canvas")
    assert (course / "submitted/lovelaceada-17/ps1/sums.ipynb").read_bytes() == newer
    assert "not taken: lovelaceada_17_399_sums.ipynb" in done.notes[0]


def test_a_newer_submission_moves_the_older_one_aside(course, tmp_path, sums):
    newer = sums.replace(b"x = 0", b"x = 9")
    collect(course, zipped(tmp_path, {"lovelaceada_17_1_sums.ipynb": sums}), "canvas")
    assert collect(course, tmp_path / "download.zip", "canvas").unchanged == {"ps1": ["lovelaceada-17"]}
    assert collect(course, zipped(tmp_path, {"lovelaceada_17_2_sums.ipynb": newer}), "canvas").replaced == {"ps1": ["lovelaceada-17"]}
    assert files(course) == ["replaced/lovelaceada-17/ps1/001/sums.ipynb", "submitted/lovelaceada-17/ps1/sums.ipynb"]
    assert (course / files(course)[0]).read_bytes() == sums


def test_an_older_submission_replaces_nothing(course, tmp_path, sums):
    for hour, data in ((18, sums), (17, sums.replace(b"x = 0", b"x = 9"))):
        metadata = METADATA.replace("18:00:00", f"{hour}:00:00")
        done = collect(course, zipped(tmp_path, {"submission_metadata.yml": metadata, "submission_5/n.ipynb": data}), "gradescope")
    assert (course / "submitted/S1/ps1/sums.ipynb").read_bytes() == sums and "which is later" in done.notes[0]


def test_files_that_a_notebook_may_read_go_with_it_and_others_are_named(course, tmp_path, sums):
    names = {"sums.ipynb": sums, "data.csv": "1", "photo.png": "", "work.zip": "", "nbgrader_config.py": "", "timestamp.txt": "x"}
    done = collect(course, zipped(tmp_path, {f"ada_1_{i}_{name}": data for i, (name, data) in enumerate(names.items())}), "canvas")
    assert files(course) == ["submitted/ada-1/ps1/data.csv", "submitted/ada-1/ps1/sums.ipynb"]
    assert [note.split()[1] for note in done.notes] == [f"ada_1_{i}_{list(names)[i]}" for i in (2, 3, 4, 5)]


def test_cells_that_lost_their_metadata_are_known_by_their_ids_and_broken_files_by_their_names(course, tmp_path, sums, rules):
    bare = json.loads(sums)
    for cell in bare["cells"]:
        cell["metadata"] = {}
    names = {
        "ada_1_1_Untitled.ipynb": json.dumps(bare),
        "eve_2_2_rules (1).ipynb": b"{ broken",
        "bob_3_3_sums.ipynb": rules[: len(rules) // 2],
    }
    assert collect(course, zipped(tmp_path, names), "canvas").unmatched == []
    assert files(course) == ["submitted/ada-1/ps1/sums.ipynb", "submitted/bob-3/ps2/rules.ipynb", "submitted/eve-2/ps2/rules.ipynb"]


def test_what_matches_nothing_is_said_and_not_written(course, tmp_path, sums):
    other = nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]))
    names = {"lovelaceada_17_1_mine.ipynb": other, "nobody_55_2_sums.ipynb": sums, "curiemarie_18_3_essay.pdf": "", "readme.txt": "",
             "anon_Xy12_5_sums.ipynb": sums}  # fmt: skip
    done = collect(course, zipped(tmp_path, names), "canvas", roster(tmp_path, CANVAS))
    assert files(course) == []
    assert [line.split(":")[0] for line in done.unmatched] == ["nobody (55) is not in the roster", "ada", "marie handed in no notebook"]
    assert {"readme.txt is not named as Canvas names a submission",
            "anon_Xy12_5_sums.ipynb is anonymous: turn that off in Canvas, and download again"} <= set(done.notes)  # fmt: skip


def test_two_who_have_one_name_are_not_mixed_up(course, tmp_path, sums):
    names = {f"Ada Lovelace_{n}_assignsubmission_file_/sums.ipynb": sums for n in (7, 8)}
    done = collect(course, zipped(tmp_path, names), "moodle")
    assert files(course) == [] and "cannot be told apart" in done.unmatched[0]


def test_nothing_outside_of_the_course_is_written(course, tmp_path, sums):
    names = [
        "../../evil_1_1_sums.ipynb",
        "/etc/x_2_2_sums.ipynb",
        "..\\..\\y_3_3_sums.ipynb",
        "a_4_4_../../../z.py",
        "C:\\w_5_5_sums.ipynb",
    ]
    before = set(tmp_path.rglob("*"))
    collect(course, zipped(tmp_path, dict.fromkeys(names, sums)), "canvas")
    written = [p for p in tmp_path.rglob("*.ipynb") if "source" not in p.parts]
    assert len(written) == 4 and {p.parents[2] for p in written} == {course / "submitted"}
    assert {p for p in tmp_path.rglob("*") if not p.is_relative_to(course)} - before == {tmp_path / "download.zip"}


@pytest.mark.parametrize("student", ["..", ".hidden", "-rf", "a/b", "con\n", "x" * 300])
def test_a_name_that_cannot_be_a_folder_is_refused(course, tmp_path, sums, student):
    metadata = json.dumps({"submission_5": {":submitters": [{":sid": student}]}})
    done = collect(course, zipped(tmp_path, {"submission_metadata.yml": metadata, "submission_5/n.ipynb": sums}), "gradescope")
    assert files(course) == ([] if student != "con\n" else ["submitted/con/ps1/sums.ipynb"]) and len(done.unmatched) == (student != "con\n")


def test_links_are_not_followed(course, tmp_path, sums):
    with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
        link = zipfile.ZipInfo("ada_1_1_sums.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("eve_2_2_sums.ipynb", sums)
    inbox = tmp_path / "inbox" / "bob"
    inbox.mkdir(parents=True)
    (inbox / "sums.ipynb").symlink_to("/etc/passwd")
    (inbox / "n.ipynb").write_bytes(sums)
    (course / "submitted").mkdir()
    (course / "submitted" / "eve-2").symlink_to(tmp_path)
    done = collect(course, tmp_path / "download.zip", "canvas")
    assert "eve-2 is a link" in done.unmatched[0] and "ada_1_1_sums.ipynb is a link" in done.notes[0] and done.new == {}
    assert "is a link or no plain file" in collect(course, inbox.parent, "folder").notes[0]


def test_a_bomb_costs_a_sentence(course, tmp_path, sums, monkeypatch):
    done = collect(course, zipped(tmp_path, {"a_1_1_sums.ipynb": bytes(40 << 20), "b_2_2_sums.ipynb": sums}), "canvas")
    assert files(course) == ["submitted/b-2/ps1/sums.ipynb"] and "has more than 32 MB" in done.unmatched[0]
    monkeypatch.setattr(downloads, "MOST", 1)
    with pytest.raises(ValueError, match="more than 1 are not read"):
        collect(course, tmp_path / "download.zip", "canvas")


def test_damaged_and_encrypted_entries_are_named(course, tmp_path, sums):
    path = zipped(tmp_path, {"a_1_1_sums.ipynb": sums, "b_2_2_sums.ipynb": sums})
    data = bytearray(path.read_bytes())
    data[60:80] = bytes(20)
    path.write_bytes(data)
    done = collect(course, path, "canvas")
    assert files(course) == ["submitted/b-2/ps1/sums.ipynb"] and done.notes == [] and "cannot be unpacked" in done.unmatched[0]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_each_way_to_pack_is_read_and_damage_is_seen(course, tmp_path, sums, method):
    (tmp_path / "r").mkdir()
    data = sums + os.urandom(1 << 17).hex().encode()  # longer than a piece
    with zipfile.ZipFile(tmp_path / "d.zip", "w", method) as archive:
        archive.writestr("ada/x.csv", data)
        archive.writestr("ada/sums.ipynb", sums)
    with opened(tmp_path / "d.zip") as download:
        assert download.files["ada/x.csv"]() == data
    broken = bytearray((tmp_path / "d.zip").read_bytes())
    broken[1 << 16] ^= 255
    (tmp_path / "d.zip").write_bytes(broken)
    with opened(tmp_path / "d.zip") as download, pytest.raises(ValueError, match=r"ada/x.csv cannot be unpacked: .+"):
        download.files["ada/x.csv"]()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_is_unpacked_no_further_than_it_is_read(course, tmp_path, method):
    with zipfile.ZipFile(tmp_path / "d.zip", "w", method) as archive, archive.open("ada/sums.ipynb", "w") as file:
        for _ in range(256):
            file.write(bytes(1 << 20))
    with opened(tmp_path / "d.zip") as download, pytest.raises(ValueError, match="more than 32 MB"):
        tracemalloc.start()
        try:
            download.files["ada/sums.ipynb"]()
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert peak < 100 << 20


def test_a_dictionary_of_gigabytes_is_refused(course, tmp_path, sums):
    path = tmp_path / "d.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("ada/sums.ipynb", sums)
    data = bytearray(path.read_bytes())
    at = 30 + len("ada/sums.ipynb") + 5  # behind version, length and the first byte of the properties
    data[at : at + 4] = (0xFFFFFFFF).to_bytes(4, "little")
    path.write_bytes(data)
    assert "cannot be unpacked: Memory usage limit" in collect(course, path, "folder").unmatched[0]


def packed(tmp_path, method, name):
    with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
        entry = zipfile.ZipInfo(name)
        archive.writestr(entry, b"{}")
    data = (tmp_path / "download.zip").read_bytes()
    (tmp_path / "download.zip").write_bytes(method(data))
    return tmp_path / "download.zip"


def encrypted(data):
    """The flag of encryption, in both places."""
    data = bytearray(data)
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    return bytes(data)


@pytest.mark.parametrize(("system", "name"), [("canvas", "ada_1_1_sums.ipynb"), ("folder", "ada/sums.ipynb"),
                                          ("moodle", "Ada_1_assignsubmission_file_/sums.ipynb")])  # fmt: skip
def test_an_encrypted_zip_is_called_one(course, tmp_path, system, name):
    done = collect(course, packed(tmp_path, encrypted, name), system)
    assert done.unmatched[0].endswith(f": {name} is encrypted: unpack the zip with its password, and collect the folder (--from folder)")


@pytest.mark.parametrize("system", ["canvas", "moodle", "gradescope", "folder"])
def test_an_empty_zip_is_called_empty(course, tmp_path, system):
    with pytest.raises(ValueError, match="there are no files in it"):
        collect(course, zipped(tmp_path, {}), system)


@pytest.mark.parametrize("time", [bytes(40 << 20), b"", b"soon", b"\xff\xfe", b"0001-01-01 00:00:00 +1400", b"9999-12-31 23:59:59 -1400"])
def test_a_time_that_cannot_be_read_costs_a_sentence(course, tmp_path, sums, time):
    names = {"ada/sums.ipynb": sums, "bob/sums.ipynb": sums, "bob/timestamp.txt": time}
    done = collect(course, zipped(tmp_path, names), "folder")
    assert done.new == {"ps1": ["ada", "bob"]} and done.unmatched == []
    assert len(done.notes) == 1 and done.notes[0].startswith("bob/timestamp.txt ")
    assert done.notes[0].endswith("is collected without a time. Write one into it, and collect again")


def test_a_time_that_a_student_hands_in_does_not_count_beside_the_one_of_the_folder(course, tmp_path, sums):
    theirs = {"ada/hw/sums.ipynb": sums, "ada/hw/timestamp.txt": "2020-01-01 00:00:00 UTC"}
    collect(course, zipped(tmp_path, {**theirs, "ada/timestamp.txt": "2026-11-21 18:00:01 UTC"}), "folder")
    assert (course / "submitted/ada/ps1/timestamp.txt").read_text() == "2026-11-21 18:00:01 UTC\n"


def test_who_handed_in_no_notebook_is_named_whatever_others_are_called(course, tmp_path):
    done = collect(course, zipped(tmp_path, {"ada/a.txt.ipynb": "{}", "da/a.txt": ""}), "folder")
    assert [line.split(":")[0] for line in done.unmatched] == ["ada", "da handed in no notebook"]


def test_a_file_that_cannot_be_written_costs_its_student(course, tmp_path, sums):
    long = 90 * "\N{CJK UNIFIED IDEOGRAPH-4E00}"  # 270 bytes, and a name has at most 255
    names = {"ada/sums.ipynb": sums, "bob/sums.ipynb": sums, f"bob/{long}.csv": "1", f"{long}/sums.ipynb": sums}
    (course / "submitted").mkdir()
    (course / "submitted" / "eve").write_text("in the way")
    done = collect(course, zipped(tmp_path, {**names, "eve/sums.ipynb": sums}), "folder")
    assert done.new == {"ps1": ["ada"]}
    assert [line.split(":")[0] for line in done.unmatched] == ["bob", "eve", long]
    assert all(line.endswith(". Mend that, and collect again") for line in done.unmatched)


def test_a_full_disk_is_not_told_of_each_student(course, tmp_path, sums, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "x")

    monkeypatch.setattr(collecting, "_place", full)
    with pytest.raises(OSError, match="No space"):
        collect(course, zipped(tmp_path, {"ada/sums.ipynb": sums}), "folder")


def test_a_folder_that_cannot_be_read_is_named_and_the_class_goes_on(course, tmp_path, sums, monkeypatch):
    for student in ("ada", "bob"):
        (tmp_path / "inbox" / student).mkdir(parents=True)
        (tmp_path / "inbox" / student / "sums.ipynb").write_bytes(sums)
    scandir = os.scandir

    def refused(path):
        if str(path).endswith("bob"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    done = collect(course, tmp_path / "inbox", "folder")
    assert done.new == {"ps1": ["ada"]}
    assert done.unmatched == ["bob cannot be read: Permission denied. Make it readable for you, and collect again"]


def test_a_pdf_under_the_name_of_a_notebook_replaces_none(course, tmp_path, sums):
    collect(course, zipped(tmp_path, {"ada/sums.ipynb": sums}), "folder")
    done = collect(course, zipped(tmp_path, {"ada/sums.ipynb": b"%PDF-1.7", "bob/sums.ipynb": sums}), "folder")
    assert done.unmatched == ["ada: ada/sums.ipynb is a PDF and no notebook. Ask for the notebook, the .ipynb file"]
    assert files(course) == ["submitted/ada/ps1/sums.ipynb", "submitted/bob/ps1/sums.ipynb"]


def test_a_name_that_cannot_be_a_folder_is_told_with_its_file(course, tmp_path, sums):
    done = collect(
        course, zipped(tmp_path, {"/a.ipynb": sums, "C:/b.ipynb": sums, "./ada//sums.ipynb": sums, "/bob/sums.ipynb": sums}), "folder"
    )
    assert done.notes == ["a.ipynb is in no student's folder"] and done.new == {"ps1": ["ada", "bob"]}
    assert len(done.unmatched) == 1 and done.unmatched[0].startswith("C:/b.ipynb: a student's folder cannot be named 'C:'. Rename it")


def test_what_one_student_hands_in_does_not_use_up_what_is_read_of_another(course, tmp_path, sums, monkeypatch):
    monkeypatch.setattr(collecting, "BYTES", 2 * len(sums))
    monkeypatch.setattr(downloads, "MOST_OF_ONE", 10)
    many = {f"ada/a{i:02}.csv": bytes(len(sums)) for i in range(20)}
    done = collect(course, zipped(tmp_path, {**many, "ada/z.ipynb": sums, "bob/sums.ipynb": sums}), "folder")
    assert done.new == {"ps1": ["ada", "bob"]} and done.unmatched == []
    assert "ada handed in 21 files" in done.notes[0] and "ada: ada/a01.csv is not read: of one student at most" in done.notes[1]
    assert done.notes[-1] == "ada: 3 more files are left out"


@pytest.mark.parametrize(("system", "name"), [
    ("canvas", "ada_1_1_x\\eve_2_9_sums.ipynb"),
    ("canvas", "ada_1_1_x/eve_2_9_sums.ipynb"),
    ("moodle", "Ada_1_assignsubmission_file_Eve_2_assignsubmission_file_sums.ipynb"),
    ("moodle", "Ada_1_assignsubmission_file_/Eve_2_assignsubmission_file_sums.ipynb"),
])  # fmt: skip
def test_a_student_cannot_name_a_file_after_another_student(course, tmp_path, sums, system, name):
    people = roster(tmp_path, "login,name,id\nada,Ada,1\neve,Eve,2\n")
    other = {"canvas": "bob_3_3_n.txt", "moodle": "Bob_3_assignsubmission_file_/n.txt"}[system]
    assert collect(course, zipped(tmp_path, {name: sums, other: ""}), system, people).new == {"ps1": ["ada"]}


def test_a_folder_around_the_class_that_is_named_as_a_submission_is_no_student(course, tmp_path, sums):
    classes = {f"cs_2026_2_all/{s}_{s}_5_sums.ipynb": sums for s in (1, 2)}
    with pytest.raises(ValueError, match="everything in it lies in the folder cs_2026_2_all, which"):
        collect(course, zipped(tmp_path, classes), "canvas")
    assert collect(course, zipped(tmp_path, {f"all/{name}": sums for name in ("a_1_5_n.ipynb", "b_2_5_n.ipynb")}), "canvas").new == {
        "ps1": ["a-1", "b-2"]
    }


def test_a_number_of_a_thousand_digits_in_a_name_is_a_name(course, tmp_path, sums):
    done = collect(course, zipped(tmp_path, {f"ada/sums ({'9' * 5000}).ipynb": sums, "bob/sums.ipynb": sums}), "folder")
    assert done.new == {"ps1": ["ada", "bob"]}


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04" + bytes(100)])
def test_what_is_no_zip_is_said_in_a_sentence(course, tmp_path, data):
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(ValueError, match="is not a zip that can be read"):
        collect(course, tmp_path / "x.zip", "canvas")


@pytest.mark.parametrize("system", ["canvas", "moodle", "gradescope"])
def test_a_download_of_another_system_is_refused_with_what_is_expected(course, tmp_path, sums, system):
    with pytest.raises(ValueError, match=f"as {system} names what students hand in; expected"):
        collect(course, zipped(tmp_path, {"some/sums.ipynb": sums}), system)


@pytest.mark.parametrize(
    "text", ["- 1", "a: [", "submission_5: 3", "submission_5: {':submitters': 7}", "? {a: b}\n: c", "submission_5:\n  :submitters: [{}]"]
)
def test_metadata_that_is_none_is_no_traceback(course, tmp_path, sums, text):
    with contextlib.suppress(ValueError):
        collect(course, zipped(tmp_path, {"submission_metadata.yml": text, "submission_5/n.ipynb": sums}), "gradescope")
    assert files(course) == []


ROSTERS = {
    "own": "student,name,email\nada,Ada Lovelace,ada@uni.edu\n",
    "canvas": CANVAS,
    "semicolons": CANVAS.replace(",", ";")
    .replace("Lovelace; Ada", "Lovelace, Ada")
    .replace("Curie; Marie", "Curie, Marie")
    .replace("Student; Test", "Student, Test"),
    "moodle": "Identifier,Full name,ID number,Email address\nParticipant 17,Ada Lovelace,ada,ada@uni.edu\n",
    "gradescope": "First Name,Last Name,SID,Email,Sections\nAda,Lovelace,ada,ada@uni.edu,\n",
}


@pytest.mark.parametrize("kind", ROSTERS)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_a_roster_is_what_a_system_exports_or_a_list_of_ones_own(tmp_path, kind, encoding):
    (tmp_path / "r.csv").write_bytes(ROSTERS[kind].replace("\n", "\r\n").encode(encoding))
    found = read_roster(tmp_path / "r.csv")
    assert [found.find(name=name).login for name in ("lovelaceada", "Ada Lovelace", "LOVELACE, Ada")] == ["ada"] * 3
    assert found.find(name="grace") is None and found.find(ids=["ADA"]).login == "ada"


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "login\nada\nada\n", "login\n../x\n", "login\n.x\n"])
def test_a_roster_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(ValueError, match="r.csv"):
        read_roster(tmp_path / "r.csv")


def test_a_name_that_two_have_finds_neither(tmp_path):
    found = roster(tmp_path, 'login,name,email\nada,Ada Lovelace,a@uni.edu\nada2,"Lovelace, Ada",b@uni.edu\n')
    assert found.find(name="Ada Lovelace") is None and found.find(ids=["b@uni.edu"]).login == "ada2"


def test_times_of_each_system_are_read():
    said = ["2026-11-21 18:00:00 UTC", "2026-11-21 10:00:00 -0800", "2026-11-21T18:00:00Z", "2026-11-21 18:00:00.0+00:00"]
    assert {parse_time(text) for text in said} == {datetime(2026, 11, 21, 18, tzinfo=UTC)}
    assert (
        parse_time("Saturday, 21 November 2026, 6:00 PM")
        == parse_time("Saturday, November 21, 2026, 6:00 PM")
        == parse_time("2026-11-21 18:00")
    )
    assert parse_time("-") is None


def test_the_gradebook_learns_names_and_numbers(course, tmp_path):
    remember_people(course, roster(tmp_path, CANVAS).people, "canvas")
    with CourseGradebook(course / "gradebook.db", "ps1") as gradebook:
        assert [(p.name, p.number) for p in gradebook.people() if p.login == "ada"] == [("Lovelace, Ada", "17")]
    assert due_dates(course) == {}


@pytest.mark.parametrize(("system", "names", "known"), [
    ("canvas", {"lovelaceada_17_400_sums.ipynb": ""}, ("lovelaceada-17", "", "17", "")),
    ("moodle", {"Ada Lovelace_7_assignsubmission_file/sums.ipynb": ""}, ("adalovelace", "Lovelace, Ada", "", "")),
    ("gradescope", {"submission_metadata.yml": METADATA, "submission_5/sums.ipynb": ""}, ("S1", "Lovelace, Ada", "", "ada@uni.edu")),
])  # fmt: skip
def test_what_a_download_says_of_its_people_is_known_without_a_roster(course, tmp_path, sums, system, names, known):
    path = zipped(tmp_path, {name: data or sums for name, data in names.items()})
    words = ["course", "collect", str(path), "--from", system, "--course", str(course)]
    assert CliRunner().invoke(group, words).exit_code == 0
    with CourseGradebook(course / "gradebook.db", "ps1") as gradebook:
        assert known in [(p.login, p.name, p.number, p.email) for p in gradebook.people()]
        gradebook.gradebook.update_or_create_student(known[0], first_name="Augusta", last_name="King")
    CliRunner().invoke(group, words)
    with CourseGradebook(course / "gradebook.db", "ps1") as gradebook:
        assert ("King, Augusta", known[2]) in [(p.name, p.number) for p in gradebook.people()]


def test_the_command_names_what_it_could_not_match(course, tmp_path, sums):
    (tmp_path / "roster.csv").write_text(CANVAS)
    path = zipped(tmp_path, {"lovelaceada_17_1_a.ipynb": sums, "nobody_55_2_sums.ipynb": sums})
    words = ["course", "collect", str(path), "--from", "canvas", "--course", str(course), "--roster", str(tmp_path / "roster.csv")]
    done = CliRunner().invoke(group, words)
    assert (done.exit_code, done.stdout) == (1, "ps1: 1 new, 0 replaced, 0 unchanged\n")
    assert "nobody (55) is not in the roster" in done.stderr and "1 of the roster handed nothing in: marie" in done.stderr
    assert json.loads(CliRunner().invoke(group, [*words, "--json"]).stdout)["unchanged"] == {"ps1": ["ada"]}
    assert "is no time such as" in CliRunner().invoke(group, [*words, "--due", "soon"]).stderr
