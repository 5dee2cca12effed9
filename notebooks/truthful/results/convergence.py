"""Fig. 2: distance from the saddle point over time, in truthful runs.

One row a run. Column ``x_k`` is the distance of the states after k steps, ``mu_k``
that of the multipliers. Five digits.
"""

from dplib.book.rounding import rounded
from dplib.rng import stream
from dplib.truthful.algorithm import record_steps, simulate
from dplib.truthful.paper import errors, experiment_plan

PARAMETERS = {"seed": 2026, "steps": 250_000, "runs": 300, "recorded": 50}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-4}
TASK = ("run",)

RECORD = record_steps(PARAMETERS["steps"], PARAMETERS["recorded"])
COLUMNS = tuple(f"{name}_{k}" for name in ("x", "mu") for k in RECORD)


def tasks():
    """Return all runs."""
    return [(number,) for number in range(PARAMETERS["runs"])]


def run(number):
    """Run once, truthfully."""
    rng = stream(PARAMETERS["seed"], "truthful", "noise", number)
    done = simulate(experiment_plan(record=RECORD), rng)
    return [[rounded(v, digits=5) for curve in errors(done) for v in curve[0]]]
