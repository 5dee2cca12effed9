"""What lies gain under noise: all eight agents, five values of epsilon.

One task is one noise stream: a truthful run of the paper's instance, and beside it, on
the same noise, one run for each agent that pretends to have no wishes, one for each
that always reports the corner opposite to its target, and two more lies of the
paper's agent 6 (its own target, as in the paper, and the constant report that is
best without noise). Noise has the scales of Lemmas 5 and 6 at that epsilon, B = 3.

Rows: ``agent`` counts from 1, as in the paper. ``cost`` is what the agent pays in the
truthful run after the last step, ``gain`` how much less when it lies, ``others`` the
same gain for all other agents together.
"""

import numpy as np

from dplib.rng import stream
from dplib.truthful.algorithm import Plan, simulate
from dplib.truthful.constants import multiplier_radius
from dplib.truthful.lie_search import indifferent_report, opposite_corner
from dplib.truthful.noise import calibrated, trajectory_adjacency
from dplib.truthful.paper import hale_egerstedt
from dplib.truthful.problem import agent_objectives
from dplib.truthful.reports import Lie, Pretence

PARAMETERS = {
    "steps": 250_000,
    "B": 3.0,
    "seeds": 40,
    "root": 1509,
    "epsilon": ["0.1", "0.25", "0.5", "1.0986122886681098", "3"],
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-5}
TASK = ("epsilon", "seed")
COLUMNS = ("lie", "agent", "cost", "gain", "others")


def tasks():
    """Return every epsilon with every seed."""
    seeds = range(PARAMETERS["seeds"])
    return [(epsilon, seed) for epsilon in PARAMETERS["epsilon"] for seed in seeds]


def run(epsilon, seed):
    """Return one row a lie."""
    problem = hale_egerstedt()
    adjacency = trajectory_adjacency(PARAMETERS["B"])
    scales = calibrated(problem, adjacency=adjacency, epsilon=float(epsilon))
    named = [
        ("no wishes", Pretence(i, [0.0, 0.0], weight=0.0))
        for i in range(problem.n_agents)
    ]
    named += [
        ("opposite corner", Lie(i, opposite_corner(problem, i)))
        for i in range(problem.n_agents)
    ]
    named.append(("own target", Lie(5, problem.targets[10:12])))
    # Nine digits: the same report, whatever the last bits of the solver.
    named.append(("best constant", Lie(5, indifferent_report(problem, 5).round(9))))
    plan = Plan(
        problem,
        radius=multiplier_radius(problem, np.zeros(problem.n_states)),
        record=[PARAMETERS["steps"]],
        scales=scales,
        lies=[lie for _, lie in named],
    )
    rng = stream(PARAMETERS["root"], "truthful", "lies", epsilon, seed)
    result = simulate(plan, rng)
    costs = agent_objectives(problem, result.x[:, -1])
    rows = []
    for row, (name, lie) in enumerate(named, start=1):
        gains = costs[0] - costs[row]
        own = gains[lie.agent]
        values = (costs[0, lie.agent], own, gains.sum() - own)
        # Four decimals: far below what 40 seeds can tell.
        rows.append((name, lie.agent + 1, *(round(float(v), 4) for v in values)))
    return rows
