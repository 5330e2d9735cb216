"""A gradient check that teaches: it says whether a backward rule is wrong, how, and where.

>>> from autolab.check import check
>>> report = check("square", (lambda x: x * x, lambda g, x: g * x))
>>> print(report.diagnoses[0].text)
The gradient for x is 0.5 times the right one, everywhere (a 2 is missing)
"""

from .assertion import assert_gradients, assert_rule
from .behaviour import Behaviour, LocalPlayer, Outcome, Player, Scene, Slip, judge_behaviour
from .behaviours import BEHAVIOURS
from .candidate import Answer, Candidate, Fault, LocalCandidate
from .diagnosis import Diagnosis, diagnose
from .exercises import EXERCISES
from .reference import Reference
from .report import Report, Verdict
from .schema import JSON_SCHEMA
from .specs import SPECS, Kink, Spec
from .verdict import check, judge

SPECS.update(EXERCISES)

__all__ = [
    "assert_gradients", "assert_rule", "check", "diagnose", "judge", "judge_behaviour",
    "Behaviour", "BEHAVIOURS", "LocalPlayer", "Outcome", "Player", "Scene", "Slip",
    "Diagnosis", "JSON_SCHEMA", "Report", "Verdict",
    "Kink", "Spec", "SPECS",
    "Answer", "Candidate", "Fault", "LocalCandidate", "Reference",
]  # fmt: skip
