"""What `autolab course` says of a word that it cannot use."""

from click.testing import CliRunner

from autolab.cli.group import group


def refused(*words):
    done = CliRunner().invoke(group, ["course", *words])
    assert done.exit_code == 2, done.output
    return done.output


def test_a_day_that_is_none_is_answered_with_an_example(tmp_path):
    said = refused("new", str(tmp_path / "c"), "--weeks", "12", "--start", "2026-02-30")
    assert "'2026-02-30' is not a day of the calendar; write it like 2027-02-01" in said


def test_a_lesson_is_found_by_its_number_without_a_zero():
    short, full = (CliRunner().invoke(group, ["course", "questions", number]) for number in ("7", "07"))
    assert short.exit_code == full.exit_code == 0 and short.output == full.output


def test_questions_are_not_written_into_a_folder_that_is_not_there(tmp_path):
    assert "No such file" in refused("questions", "07", "--out", str(tmp_path / "no" / "x.xml"))


def test_a_spec_that_is_no_text_is_named(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "spec.db").write_bytes(b"SQLite\x8e\x00")
    assert "spec.db is not a text in UTF-8" in refused(
        "add", "extra", "mine", "--spec", str(tmp_path / "spec.db"), "--course", str(tmp_path)
    )
