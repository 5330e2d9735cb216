"""A gradient check that teaches: it says whether a backward rule is wrong, how, and where.

>>> from autolab.check import check
>>> report = check("square", (lambda x: x * x, lambda g, x: g * x))
>>> print(report.diagnoses[0].text)
The gradient for x is 0.5 times the right one, everywhere (a 2 is missing)
"""

from .api.assertion import assert_gradients, assert_rule
from .api.check import check, judge
from .api.judge_behaviour import judge_behaviour
from .api.report import Report, Verdict
from .api.schema import JSON_SCHEMA
from .behaviour.behaviours import BEHAVIOURS
from .behaviour.live_module import LiveModule
from .behaviour.scenes import Behaviour, LocalPlayer, Outcome, Player, Scene, Slip
from .diagnosis.diagnose import diagnose
from .diagnosis.diagnosis import Diagnosis
from .run.candidate import Answer, Candidate, Fault, LocalCandidate
from .run.differences import derivative_of_forward
from .run.proof import prove
from .run.reference import Reference
from .run.spec import Kink, Spec
from .run.specs import SPECS

__all__ = [
    "assert_gradients", "assert_rule", "check", "derivative_of_forward", "diagnose", "judge", "judge_behaviour", "prove",
    "Behaviour", "BEHAVIOURS", "LiveModule", "LocalPlayer", "Outcome", "Player", "Scene", "Slip",
    "Diagnosis", "JSON_SCHEMA", "Report", "Verdict",
    "Kink", "Spec", "SPECS",
    "Answer", "Candidate", "Fault", "LocalCandidate", "Reference",
]  # fmt: skip
