import pytest

from autolab.course.grading.sandbox import best_mode
from benchmarks import grading, grading_parts


@pytest.mark.skipif(best_mode() != "bubblewrap", reason="bubblewrap does not work here")
def test_every_kind_of_student_gets_the_grade_that_is_expected(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["grading", str(len(grading.KINDS)), "--jobs", "1", "--folder", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        grading.main()
    assert ended.value.code == 0, capsys.readouterr().out


def test_a_wrong_answer_is_worth_something_and_not_all():
    assert 0 < grading.deserved("wrong", 10.0) < 10.0


def test_a_folder_without_a_class_is_refused_with_what_makes_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["grading_parts", str(tmp_path)])
    with pytest.raises(SystemExit):
        grading_parts.main()
    assert "python -m benchmarks.grading 200 --folder" in capsys.readouterr().err
