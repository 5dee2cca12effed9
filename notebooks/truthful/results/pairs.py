"""Fig. 3: what the liar pays over time, truthful and lying, on the same noise.

The paper's lie: its agent 6 reports its own target in every step. One row a pair of
runs. Column ``truthful_k`` is the cost of agent 6 after k steps if all are truthful,
``lying_k`` its true cost in the run in which it lies. Five digits.
"""

from dplib.rounding import rounded
from dplib.truthful.algorithm import record_steps
from dplib.truthful.experiment import liar_costs, paper_lie, perform

PARAMETERS = {"seed": 2026, "steps": 250_000, "runs": 100, "recorded": 50}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-4}
TASK = ("run",)

RECORD = record_steps(PARAMETERS["steps"], PARAMETERS["recorded"])
COLUMNS = tuple(f"{name}_{k}" for name in ("truthful", "lying") for k in RECORD)


def tasks():
    """Return all pairs."""
    return [(number,) for number in range(PARAMETERS["runs"])]


def run(number):
    """Run once truthfully and once with the lie."""
    done = perform(
        PARAMETERS["seed"],
        number,
        steps=PARAMETERS["steps"],
        lies=[paper_lie()],
        record=RECORD,
    )
    return [[rounded(v, digits=5) for curve in liar_costs(done) for v in curve]]
