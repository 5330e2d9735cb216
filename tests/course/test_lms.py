"""A gradebook as a system exports it comes back with one column filled, and everything else byte for byte the same."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autolab.course.lms import cells, fill, table
from autolab.course.roster import Person

CANVAS = '''\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,"Problem set 2, ps2 (4711)",ps2 (4712),Final Score
,,,,,Manual Posting,,(read only)
    Points Possible,,,,,10,20,(read only)
"Müller, Jörg ""J""",17,S1,joerg,"A, B",9.5,{0},77
"Curie, Marie",18,S2,marie,,,"{1}",
"Noether, Emmy",19,S3,emmy,,,EX,
"Nobody, Else",20,S4,else,,,3,
"Student, Test",99,,abc,,,,
'''
MOODLE = '''\ufeffIdentifier,"Full name","ID number","Email address",Status,Grade,"Maximum Grade","Grade can be changed","Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 71","Jörg Müller",,joerg@uni.edu,"Submitted for grading - ",{0},20.00,Yes,"Wednesday, 10 June 2026, 2:14 PM",-,"Well
done, ""J"""
"Participant 72","Marie Curie",,m@uni.edu,"No submission - ",{1},20.00,Yes,-,-,
"Participant 73","Emmy Noether",,emmy@uni.edu,,12.00,20.00,No,-,-,
'''
REPORT = "First name,Last name,ID number,Email address,Assignment: ps2 (Real),Course total (Real)\nJörg,Müller,,joerg@uni.edu,{0},-\nMarie,Curie,,m@uni.edu,{1},-\n"
SCOPE = "First Name,Last Name,SID,Email,Sections,Total Score,Max Points,Status,Submission ID,Submission Time,Lateness (H:M:S),View Count,Submission Count\nJörg,Müller,S1,joerg@uni.edu,,{0},20.0,Ungraded,5,2026-11-21 10:00:00 -0800,00:00:00,3,1\nMarie,Curie,S2,m@uni.edu,,{1},20.0,Missing,,,,,\n"
PEOPLE = [
    Person("joerg", "Müller, Jörg", "17", "joerg@uni.edu"),
    Person("marie", "Curie, Marie", "", "m@uni.edu"),
    Person("emmy", "Noether, Emmy", "", "emmy@uni.edu"),
]
SYSTEMS = {"canvas": CANVAS, "moodle": MOODLE, "moodle report": REPORT, "gradescope": SCOPE}


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_file_comes_back_with_one_column_filled_and_every_other_byte_the_same(kind, ends, encoding):
    text = SYSTEMS[kind].replace("\n", ends).lstrip("\ufeff" if encoding == "latin-1" else "")
    before, after = (text.format(*marks).encode(encoding) for marks in (("", ""), (18.5, 0)))
    filled, notes = fill(before, kind.split()[0], "ps2", {"joerg": 18.5, "marie": 0.0}, 20.0, PEOPLE)
    assert filled == after and notes == []
    assert fill(filled, kind.split()[0], "ps2", {"joerg": 18.5, "marie": 0.0}, 20.0, PEOPLE) == (filled, [])


def test_who_has_no_mark_keeps_what_is_there_and_who_is_excused_is_named():
    before = CANVAS.format(5, 7).encode()
    filled, notes = fill(before, "canvas", "ps2", {"joerg": 1.0, "emmy": 3.0, "grace": 4.0}, 20.0, PEOPLE)
    assert filled == CANVAS.format(1, 7).encode()
    assert notes == ["emmy is left as it is: the file says EX", "1 with marks are not in the file: grace"]


def test_a_mark_that_moodle_does_not_take_is_not_written():
    filled, notes = fill(MOODLE.format("", "").encode(), "moodle", "ps2", {"emmy": 3.0}, 20.0, PEOPLE)
    assert filled == MOODLE.format("", "").encode() and "emmy is left as it is" in notes[0]


@pytest.mark.parametrize(("system", "text"), [("canvas", CANVAS), ("moodle", MOODLE), ("gradescope", SCOPE)])
def test_another_maximum_is_said(system, text):
    _, notes = fill(text.format("", "").encode(), system, "ps2", {"joerg": 1.0}, 86.0, PEOPLE)
    assert notes == ["the file's maximum is 20, and ps2 has 86 points; they are written as they are"]


def test_a_decimal_comma_stays_one():
    text = "Identifier;Full name;Email address;Grade;Maximum Grade\r\nParticipant 7;Jörg Müller;joerg@uni.edu;{};100,00\r\n"
    assert fill(text.format("").encode(), "moodle", "ps2", {"joerg": 18.25}, 100.0, PEOPLE)[0] == text.format("18,25").encode()
    quoted = text.replace(";", ",").replace("100,00", '"100,00"')
    assert fill(quoted.format("").encode(), "moodle", "ps2", {"joerg": 18.25}, 100.0, PEOPLE)[0] == quoted.format('"18,25"').encode()


def test_moodles_numbers_are_not_those_of_canvas():
    text = "Identifier,Full name,Email address,Grade\nParticipant 17,Marie Curie,m@uni.edu,\n"
    assert fill(text.encode(), "moodle", "ps2", {"joerg": 1.0, "marie": 2.0}, 10.0, PEOPLE)[0] == text.replace("edu,\n", "edu,2\n").encode()


@pytest.mark.parametrize(("column", "said"), [("ps9", "no column is called 'ps9'"), ("Section", None), ("ps2 (4712)", None)])
def test_a_column_is_chosen_by_its_name(column, said):
    if said is None:
        assert (
            fill(CANVAS.format("", "").encode(), "canvas", "ps2", {"joerg": 3.0}, 20.0, PEOPLE, column)[0] != CANVAS.format("", "").encode()
        )
        return
    with pytest.raises(LookupError, match=said):
        fill(CANVAS.format("", "").encode(), "canvas", "ps2", {"joerg": 3.0}, 20.0, PEOPLE, column)


@pytest.mark.parametrize("data", [b"", b"\xff\xfea\x00", b'a,"b\n', b"\x00\x01", b"a,b\n1,2\n"])
def test_a_file_that_is_none_is_refused(data):
    with pytest.raises((ValueError, LookupError)):
        fill(data, "canvas", "ps2", {"joerg": 1.0}, 20.0, PEOPLE)


def test_two_rows_of_one_student_are_refused():
    text = CANVAS.format("", "") + '"Müller, Jörg",17,S1,joerg,,,,\n'
    with pytest.raises(ValueError, match="two rows are of 'joerg'"):
        fill(text.encode(), "canvas", "ps2", {"joerg": 1.0}, 20.0, PEOPLE)


@given(st.lists(st.lists(st.text('ab",;\r\n '), min_size=1, max_size=4), min_size=1, max_size=4))
def test_cells_are_what_pythons_reader_sees(table):
    out = io.StringIO()
    csv.writer(out).writerows(table)
    found = [[cell.value for cell in row] for row in cells(out.getvalue(), ",")]
    assert found == [row or [""] for row in csv.reader(io.StringIO(out.getvalue(), newline=""))]


def test_gradescopes_columns():
    text = table("ps2", {"joerg": 3.5, "=x": 1.0}, 20.0, "gradescope", PEOPLE)
    assert text.splitlines()[0] == SCOPE.splitlines()[0]
    assert text.splitlines()[1:] == [",,'=x,,,1,20,Graded,,,,,", "Jörg,Müller,joerg,joerg@uni.edu,,3.5,20,Graded,,,,,"]


def test_canvas_finds_a_student_by_login_beside_a_name():
    lines = table("ps2", {"ada": 3.5, "eve": 1.0}, 5.0, "canvas", [Person("ada", "Lovelace, Ada", "17")]).splitlines()
    assert lines[2:] == ['"Lovelace, Ada",17,,ada,,3.5', "eve,,,eve,,1"]


def test_a_column_that_is_new_in_moodle_is_in_percent():
    lines = table("ps2", {"ada": 43.0, "eve": 0.0}, 86.0, "moodle").splitlines()
    assert lines == ["username,ps2,ps2 percent", "ada,43,50", "eve,0,0"]
