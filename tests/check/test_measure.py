"""The checker's figures on the project's own wrong and right rules (`make mutants` prints them)."""

from __future__ import annotations

import pytest

from autolab.check import SPECS, Reference
from autolab.check.diagnosis.formulas.equivalent_formulas import EQUIVALENT_FORMULAS, equivalent_formulas
from autolab.check.run.cases import cases
from autolab.check.run.observation import close

from .measure import GOALS, figures, run, table


@pytest.fixture(scope="module")
def results():
    return run()


def test_every_wrong_rule_is_caught(results):
    assert [str(r) for r in results if r.expected and r.passed] == []


def test_no_right_rule_is_refused(results):
    assert [str(r) for r in results if not r.expected and not r.passed] == []


def test_what_is_called_certain_is_the_mistake(results):
    assert [str(r) for r in results if r.expected and r.certain_but_wrong] == []


def test_nine_in_ten_mistakes_are_named(results):
    found = figures(results)
    assert found["named, %"] >= GOALS["named, %"][0]
    assert all(found[name] >= GOALS[name][0] for name in ("wrong rules", "operations", "right rules"))


def test_the_table_has_a_line_for_each_operation(results):
    assert len(table(results).splitlines()) == 1 + len({r.operation for r in results})


@pytest.mark.parametrize("operation", sorted(set(EQUIVALENT_FORMULAS) & set(SPECS)))
def test_each_equivalent_formula_is_right(operation, rng):
    spec = SPECS[operation]
    reference = Reference.of(spec.row or operation)
    case = next(iter(cases(spec, reference, rng)))
    names = reference.environment(case.inputs, case.settings)
    for x in EQUIVALENT_FORMULAS[operation]:
        for formula in equivalent_formulas(reference.name, x, reference.inputs):
            got = formula.evaluate(Looked(reference, names, case.upstream[0]))
            assert close(got, reference.gradient(x, case.upstream[0], names)), formula.text


class Looked:
    """As much of an observation as a formula looks at."""

    def __init__(self, reference, names, g):
        self.reference, self.names, self.g = reference, names, g
