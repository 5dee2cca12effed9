"""Every argument alone replaced by junk: one sentence, or a finite answer."""

import re
from typing import Any

import numpy as np
import pytest

from dplib.mdp import (
    batch,
    evaluate,
    factored,
    gridworld,
    model,
    policy_iteration,
    solve,
    tabular,
    two_state,
)
from dplib.privacy import gaussian
from dplib.rewards import (
    accuracy,
    adversary,
    balanced,
    central,
    comparison,
    cost,
    examples,
    guidance,
    iterations,
    noise_law,
    perturbation,
    survival,
    tables,
    waypoints,
)
from dplib.rng import stream

RNG = stream(1, "junk")
MODEL = factored.FactoredMDP((two_state.two_state(0.9),) * 2, 0.9)
TEAM = examples.example_one(2, 0.9, discount=0.9)
LAW = noise_law.input_noise([2, 2], sigma=1.0)
DRAW = perturbation.standard_draw(4, [2, 2], samples=3, rng=RNG)
NOISE = perturbation.joint_noise(LAW, DRAW)
BEST = cost.optimum(TEAM)
TABLES = [np.ones((4, 2)), np.ones((4, 2))]
EAST = [1.0, 0.0, 0.0]
VEHICLE = guidance.Vehicle(speed=1.0, exponent=1.0)
FLIGHT = guidance.fly(VEHICLE, start=[0, 1, 0], heading=EAST, target=[3, 0, 0])
GRID = waypoints.Grid([0.0, 1.0], [0.0, 1.0], 0.0, (0, 0), (1, 1))
FIELDS = {name: getattr(FLIGHT, name) for name in FLIGHT.__dataclass_fields__}

JUNK: list[Any] = [
    float("nan"),
    float("inf"),
    -1,
    -1.5,
    0,
    True,
    "a",
    None,
    [],
    np.array([np.nan]),
    np.ma.array([1.0, 2.0], mask=[0, 1]),
    2**80,
    1 + 2j,
    np.zeros(0),
    np.zeros((3, 3, 3)),
    {"a": 1},
    1e308,
    1e-320,
    10**400,
]

#: Where an infinite answer is right: no Gaussian release is purely private.
#: And no float is as low as the logarithm of delta at an epsilon of 1e308.
INFINITE = {
    ("central_epsilon", "delta"),
    ("gaussian_epsilon", "delta"),
    ("central_log_delta", "epsilon"),
}

#: Where NaN is right: "no guess".
NO_GUESS = {("triangulate", "exponent")}

ONE_SENTENCE = re.compile(r"parameter of .* must .* Got .* instead", re.DOTALL)

GOOD = [
    (
        solve.value_iteration,
        {
            "model": MODEL,
            "rewards": TEAM.rewards,
            "tolerance": 1e-6,
            "stopping": "sup",
            "start": np.zeros(4),
        },
    ),
    (policy_iteration.policy_iteration, {"model": MODEL, "rewards": TEAM.rewards}),
    (
        policy_iteration.modified_policy_iteration,
        {"model": MODEL, "rewards": TEAM.rewards, "tolerance": 1e-6},
    ),
    (evaluate.evaluate, {"model": MODEL, "rewards": TEAM.rewards, "policy": [0] * 4}),
    (
        batch.solve_many,
        {"model": MODEL, "rewards": TEAM.rewards[None] + NOISE, "tolerance": 1e-6},
    ),
    (
        batch.evaluate_many,
        {"model": MODEL, "rewards": TEAM.rewards, "policies": [[0] * 4]},
    ),
    (model.backup, {"model": MODEL, "rewards": TEAM.rewards, "values": np.zeros(4)}),
    (model.MDP, {"transitions": np.ones((1, 1, 1)), "discount": 0.9}),
    (factored.FactoredMDP, {"transitions": MODEL.transitions, "discount": 0.9}),
    (gridworld.gridworld, {"rows": 2, "columns": 2, "slip": 0.1, "law": "put"}),
    (two_state.two_state, {"p": 0.9}),
    (
        tabular.from_arrays,
        {"transitions": np.ones((1, 1, 1)), "rewards": [[1.0]], "discount": 0.9},
    ),
    (accuracy.accuracy_bound, {"sigma": 1.0, "n_agents": 2, "pairs": 8}),
    (accuracy.log_bound, {"sigma": 1.0, "n_agents": 2, "pairs": 8}),
    (accuracy.sidak_bound, {"sigma": 1.0, "n_agents": 2, "pairs": 8}),
    (accuracy.independent_maximum, {"count": 3}),
    (
        accuracy.sampled_maxima,
        {"actions": [2, 2], "n_states": 2, "sigma": 1.0, "samples": 3, "rng": RNG},
    ),
    (
        accuracy.epsilon_for_accuracy,
        {"accuracy": 1.0, "factor": 1.0, "b": 1.0, "delta": 0.1},
    ),
    (accuracy.value_loss_bound, {"max_error": [1.0], "discount": 0.9}),
    (survival.survival, {"rewards": [1.0, 2.0, 3.0], "top": 1, "sigma": 1.0}),
    (
        survival.survival_lower_bound,
        {"rewards": [1.0, 2.0, 3.0], "top": 1, "sigma": 1.0},
    ),
    (
        survival.theorem5_bound,
        {"rewards": [1.0, 2.0, 3.0], "top": 1, "bottom": 1, "sigma": 1.0},
    ),
    (survival.gap_for_survival, {"probability": 0.9, "others": 3, "sigma": 1.0}),
    (survival.sigma_for_survival, {"probability": 0.9, "others": 3, "width": 1.0}),
    (iterations.sweeps, {"largest": [1.0], "eta": 1e-8, "discount": 0.9}),
    (iterations.sweeps_from_zero, {"largest": [1.0], "eta": 1e-8, "discount": 0.9}),
    (
        iterations.excess_bound,
        {
            "largest": 1.0,
            "sigma": 1.0,
            "n_agents": 1,
            "pairs": 4,
            "eta": 1e-8,
            "discount": 0.9,
        },
    ),
    (
        iterations.expected_sweeps,
        {"rewards": [1.0, 2.0], "sigma": 1.0, "eta": 1e-8, "discount": 0.9},
    ),
    (tables.joint_reward, {"tables": TABLES}),
    (
        tables.adjacent,
        {"first": TABLES, "second": TABLES, "bound": 1.0},
    ),
    (tables.joint_sensitivity, {"actions": [2, 2], "bound": 1.0}),
    (tables.enumerated_sensitivity, {"actions": [2, 2], "bound": 1.0}),
    (tables.averaging_matrix, {"actions": [2, 2]}),
    (tables.action_counts, {"actions": [2, 2]}),
    (tables.appearances, {"actions": [2, 2]}),
    (tables.paper_sensitivity, {"actions": [2, 2], "bound": 1.0}),
    (tables.entry_adjacency, {"bound": 1.0}),
    (tables.reward_tables, {"tables": TABLES}),
    (tables.reward_vector, {"table": TABLES[0]}),
    (noise_law.input_noise, {"actions": [2, 2], "sigma": 1.0}),
    (noise_law.paper_output, {"actions": [2, 2], "sigma": 1.0}),
    (noise_law.projected_output, {"actions": [2, 2], "sigma": 1.0}),
    (
        perturbation.standard_draw,
        {"n_states": 4, "actions": [2, 2], "samples": 3, "rng": RNG},
    ),
    (perturbation.joint_noise, {"law": LAW, "draw": DRAW}),
    (perturbation.perturb_tables, {"tables": TABLES, "sigma": 1.0, "rng": RNG}),
    (
        perturbation.perturb_output,
        {"tables": TABLES, "law": LAW, "rng": RNG},
    ),
    (
        noise_law.NoiseLaw,
        {
            "name": "x",
            "actions": [2, 2],
            "constant": 1.0,
            "agents": [1.0, 1.0],
            "rest": 0.5,
            "extra": 0.5,
        },
    ),
    (noise_law.tight_output, {"actions": [2, 2], "sigma": 1.0}),
    (noise_law.covariance_matrix, {"law": LAW}),
    (noise_law.entry_variance, {"law": LAW}),
    (LAW.scaled, {"factor": 2.0}),
    (perturbation.StandardDraw, {"entries": np.ones((1, 4, 4)), "extra": [[1.0] * 4]}),
    (perturbation.effects, {"rows": np.ones((3, 4)), "actions": [2, 2]}),
    (central.central_shift, {"law": LAW, "bound": 1.0}),
    (central.shift_of_change, {"law": LAW, "change": [0.5, 0.5, 0.0, 0.0]}),
    (central.central_log_delta, {"law": LAW, "bound": 1.0, "epsilon": 1.0}),
    (central.matched, {"law": LAW, "bound": 1.0, "epsilon": 1.0, "delta": 0.1}),
    (central.central_epsilon, {"law": LAW, "bound": 1.0, "delta": 0.1}),
    (central.central_delta, {"law": LAW, "bound": 1.0, "epsilon": 1.0}),
    (balanced.balanced_output, {"actions": [2, 2], "sigma": 1.0}),
    (balanced.variance_floor, {"actions": [2, 2], "sigma": 1.0}),
    (comparison.mechanisms, {"actions": [2, 2], "sigma": 1.0}),
    (
        comparison.equally_private,
        {"actions": [2, 2], "bound": 1.0, "epsilon": 1.0, "delta": 0.1},
    ),
    (cost.costs_of_privacy, {"example": TEAM, "noise": NOISE, "reference": BEST}),
    (cost.cost_percent, {"achieved": [1.0], "optimal": [2.0]}),
    (cost.mean_estimate, {"sample": [1.0, 2.0]}),
    (cost.paired_estimate, {"first": [1.0, 2.0], "second": [1.0, 3.0]}),
    (examples.example_one, {"n_agents": 2, "p": 0.9, "discount": 0.9}),
    (
        examples.example_two,
        {"r_max": 5.0, "discount": 0.9, "n_agents": 2, "size": 2, "slip": 0.1},
    ),
    (guidance.Vehicle, {"speed": 1.0, "exponent": 1.0, "arrival": "free", "step": 0.1}),
    (guidance.Flight, FIELDS),
    (
        guidance.genex,
        {
            "r": EAST,
            "v": EAST,
            "time_to_go": 1.0,
            "exponent": 1.0,
            "final_velocity": EAST,
        },
    ),
    (
        guidance.genex_turn,
        {"r": EAST, "v": EAST, "exponent": 1.0, "direction": EAST},
    ),
    (
        guidance.fly,
        {
            "vehicle": VEHICLE,
            "start": [0.0, 1.0, 0.0],
            "heading": EAST,
            "target": [3.0, 0.0, 0.0],
            "waypoints": [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]],
            "switch_range": 0.5,
            "max_time": 100.0,
        },
    ),
    (
        adversary.ballistic_end,
        {"x": [EAST], "v": [EAST], "a": [EAST], "remaining": [1.0], "decay": 0.1},
    ),
    (adversary.guesses, {"flight": FLIGHT, "decay": 0.1}),
    (
        adversary.detect,
        {
            "flight": FLIGHT,
            "guess": FLIGHT.positions,
            "target": [3.0, 0.0, 0.0],
            "radius": 0.5,
            "in_a_row": 2,
        },
    ),
    (adversary.triangulate, {"flight": FLIGHT, "exponent": 1.0}),
    (
        waypoints.Grid,
        {
            "east": [0.0, 1.0],
            "north": [0.0, 1.0],
            "altitude": 0.0,
            "start": (0, 0),
            "goal": (1, 1),
        },
    ),
    (waypoints.Route, {"states": [0, 1], "ends": "loop"}),
    (waypoints.grid_moves, {"grid": GRID, "reading": "stay"}),
    (waypoints.waypoint_mdp, {"grid": GRID, "reading": "stay", "discount": 0.9}),
    *(
        (
            waypoints.reward_table,
            {
                "grid": GRID,
                "design": design,
                "goal_reward": 5.0,
                "scale": 20.0,
                "toll": 0.1,
            },
        )
        for design in waypoints.DESIGNS
    ),
    (waypoints.route, {"grid": GRID, "policy": [0, 0, 0, 4]}),
    (gaussian.kappa_sigma, {"sensitivity": 1.0, "epsilon": 1.0, "delta": 0.1}),
    (gaussian.analytic_sigma, {"sensitivity": 1.0, "epsilon": 1.0, "delta": 0.1}),
    (gaussian.classic_sigma, {"sensitivity": 1.0, "epsilon": 0.5, "delta": 0.1}),
    (gaussian.gaussian_epsilon, {"sensitivity": 1.0, "sigma": 1.0, "delta": 0.1}),
    (gaussian.gaussian_delta, {"sensitivity": 1.0, "sigma": 1.0, "epsilon": 1.0}),
    (gaussian.group_sensitivity, {"sensitivity": 1.0, "entries": 3}),
]

CASES = [(function, good, name) for function, good in GOOD for name in good]


@pytest.mark.parametrize(("function", "good"), GOOD)
def test_the_good_call_is_good(function, good) -> None:
    function(**good)


@pytest.mark.parametrize(
    ("function", "good", "name"),
    CASES,
    ids=[f"{f.__module__}.{f.__name__}-{name}" for f, _, name in CASES],
)
def test_junk_in_one_argument(function, good, name) -> None:
    for junk in JUNK:
        said, late, answer = None, None, None
        try:
            answer = function(**{**good, name: junk})
        except (TypeError, ValueError) as error:
            said = str(error)
        except RuntimeError as error:
            late = str(error)
        assert late is None or (function is guidance.fly and "not arrived" in late)
        assert said is None or ONE_SENTENCE.search(said), f"{junk!r}: {said}"
        if isinstance(answer, float | np.ndarray) and junk is not None:
            right = np.all(np.isfinite(answer)) or (
                (function.__name__, name) in INFINITE | NO_GUESS
            )
            assert right, f"{junk!r}: {answer}"
