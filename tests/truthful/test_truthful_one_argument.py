"""One argument at a time is wrong: each function refuses it, or what it gives is sound.

(`test_truthful_arguments` makes all arguments wrong at once, and so tries the first
that is looked at.) Here every function gets a valid call, in which each argument in
turn becomes not a number, infinite, masked, complex, huge, empty, of another shape, of
another size, a word, or an object of another problem. Nothing but one sentence that
names the argument, a documented RuntimeError, or finite numbers may come out: no
warning, no exception of numpy, no NaN.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dplib.truthful as room
from dplib.privacy.adjacency import Adjacency
from dplib.rng import stream
from dplib.truthful import experiment, message_laws, noise, reports, saddle, simulation
from dplib.truthful.algorithm import StepSizes
from dplib.truthful.problem import Problem, hale_egerstedt

# Called once a step, and documented as not checked; without arguments; or
# tested by files of its own.
ELSEWHERE = {
    "algorithm.messages",
    "algorithm.project_box",
    "algorithm.project_multipliers",
    "algorithm.step",
    "experiment.paper_lie",
    "files.read_team",
    "incentives.linear_step_limit",
    "noise.table_one",
    "problem.hale_egerstedt",
}

PAPER, ZERO, MOVE = hale_egerstedt(), np.zeros(16), np.eye(16)[0] * 3.0
TABLE, ADJACENCY = noise.table_one(), noise.trajectory_adjacency(3.0)
POINT = saddle.saddle_point(PAPER)
DRAWS = simulation.output_draws(PAPER, TABLE)
LIARS = reports.replicas(PAPER, [reports.Lie(5, [10, 10])], ZERO)
ENTRY = message_laws.MessageEntry(0, 0.0, 1.0, np.array([1.0]))
RUN = experiment.perform(1, 0, steps=3, lies=[experiment.paper_lie()])
SMALL = Problem((1,), [-1], [1], [0], np.zeros((1, 1, 1)), [[0.0]], [-1.0])

#: A valid call of every public function and class with checked fields.
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "algorithm.StepSizes": (
        (),
        {"gamma_bar": 0.01, "alpha_bar": 0.5, "c1": 1 / 3, "c2": 0.6, "first": 1},
    ),
    "algorithm.record_steps": ((), {"steps": 100, "count": 7}),
    "algorithm.run": (
        (PAPER,),
        {
            "steps": 5,
            "radius": 100.0,
            "sizes": StepSizes(),
            "x0": ZERO,
            "mu0": np.zeros(4),
            "record": [0, 5],
        },
    ),
    "allocation.budget_matrix": ((PAPER,), {"adjacency": ADJACENCY}),
    "allocation.noise_power": ((TABLE, np.ones(9)), {}),
    "allocation.noise_power_weights": ((PAPER, np.ones(4)), {"shape": "full"}),
    "allocation.optimal_allocation": (
        (PAPER,),
        {
            "adjacency": ADJACENCY,
            "epsilon": 1.0,
            "weights": np.ones(9),
            "solver": "CLARABEL",
        },
    ),
    "allocation.uniform_repair": ((PAPER,), {"adjacency": ADJACENCY, "epsilon": 1.0}),
    "centroid.flow_time": ((10, StepSizes()), {}),
    "centroid.centroid_factors": (([0, 5],), {"sizes": StepSizes(), "weight": 1.0}),
    "centroid.centroids": ((PAPER, [0, 5]), {"sizes": StepSizes(), "x0": ZERO}),
    "centroid.centroid_floor": ((PAPER, [0, 5]), {"sizes": StepSizes(), "x0": ZERO}),
    "constants.objective_lipschitz": ((PAPER,), {}),
    "constants.diameter": ((PAPER,), {}),
    "constants.constraint_lipschitz": ((PAPER,), {"method": "exact"}),
    "constants.influence": ((PAPER,), {}),
    "constants.gradient_lipschitz": ((PAPER,), {}),
    "constants.objective_minimum": ((PAPER,), {}),
    "constants.multiplier_radius": ((PAPER, ZERO), {"f_lower": 0.0}),
    "convex.find_slater_point": ((PAPER,), {"solver": "CLARABEL"}),
    "convex.solve_convex": ((PAPER,), {"alpha": 0.1, "solver": "CLARABEL"}),
    "deterrence.deviation": (([[0, 0], [3, 4]], [[1.0, 1], [2, 2]]), {}),
    "deterrence.gain_bound": ((96.0,), {"epsilon": 1.0, "lie": 6.0, "B": 3.0}),
    "experiment.Setting": (
        (),
        {"start": "zero", "mu0": 0.0, "first": 1, "radius": 3.0, "draws": DRAWS},
    ),
    "experiment.errors": ((RUN,), {}),
    "experiment.liar_costs": ((RUN, 5), {}),
    "experiment.perform": (
        (1, 0),
        {
            "steps": 3,
            "setting": experiment.Setting(),
            "lies": [reports.Lie(5, [1, 1])],
            "record": [3],
        },
    ),
    "incentives.objective_range": ((PAPER,), {}),
    "incentives.lemma7_bounds": ((PAPER, ZERO), {}),
    "incentives.lemma8_bounds": ((PAPER, ZERO), {}),
    "incentives.beta": ((PAPER, ZERO), {"epsilon": 1.0, "reading": "printed"}),
    "input_perturbation.constraint_bias": ((PAPER,), {"scale": 1.0}),
    "input_perturbation.report_draws": ((PAPER,), {"scale": 1.0}),
    "input_perturbation.report_scale": ((), {"adjacency": ADJACENCY, "epsilon": 1.0}),
    "input_perturbation.simulate_perturbed": (
        (PAPER,),
        {
            "scale": 1.0,
            "streams": [stream(1, "x")],
            "steps": 5,
            "radius": 10.0,
            "sizes": StepSizes(),
            "lies": [reports.Lie(5, [1, 1])],
            "x0": ZERO,
            "mu0": np.zeros(4),
            "record": [0, 5],
        },
    ),
    "joint_privacy.agent_channels": ((PAPER, TABLE), {"i": 1, "receivers": "others"}),
    "joint_privacy.calibrated_factors": ((PAPER,), {"receivers": "others"}),
    "joint_privacy.closed_loop_length": ((StepSizes(),), {"steps": 5, "weight": 1.0}),
    "joint_privacy.joint_epsilons": (
        (PAPER, TABLE),
        {"adjacency": ADJACENCY, "receivers": "others"},
    ),
    "joint_privacy.joint_release": (
        (PAPER, TABLE),
        {"i": 1, "adjacency": ADJACENCY, "receivers": "others"},
    ),
    "joint_privacy.receiving_agents": ((PAPER,), {"i": 1, "receivers": "others"}),
    "joint_privacy.transcript_loss": (
        (PAPER, TABLE),
        {
            "gradients": np.zeros((2, 4, 16)),
            "values": np.zeros((2, 4)),
            "reports": np.zeros((2, 16)),
            "adjacent": np.ones((2, 16)),
            "receivers": [0, 1],
        },
    ),
    "kkt.forces": ((PAPER, ZERO, np.zeros(4), 0.1), {}),
    "kkt.residual": ((PAPER, ZERO, np.zeros(4)), {"alpha": 0.1}),
    "kkt.polish": ((PAPER, POINT.x, POINT.multipliers, 0.0, 1e-9), {}),
    "kkt.certify": ((PAPER, POINT.x, POINT.multipliers, 0.0), {}),
    "lie_search.best_constant_lie": ((PAPER, 5), {"points": 3, "truth": POINT}),
    "lie_search.indifferent_report": ((PAPER, 5), {}),
    "lie_search.opposite_corner": ((PAPER, 5), {}),
    "lie_search.lie_map": ((PAPER, 5, [[10, 10.0]]), {"truth": POINT}),
    "lies.pinned": ((PAPER, 5, [10, 10.0]), {}),
    "lies.pinned_saddle": ((PAPER, 5, [10, 10.0], POINT.x, POINT.multipliers), {}),
    "lies.constant_lie": ((PAPER, 5, [10, 10.0]), {"truth": POINT}),
    "lies.equilibrium": ((PAPER, 5, POINT, POINT.x, POINT.multipliers, 1e-9), {}),
    "message_laws.MessageEntry": (
        (),
        {"receiver": 0, "value": 0.0, "adjacent": 1.0, "scales": np.array([1.0])},
    ),
    "message_laws.binned_laws": ((ENTRY,), {"bins": 10, "reach": 1.0}),
    "message_laws.message_entries": (
        (PAPER, TABLE),
        {
            "i": 0,
            "x": ZERO,
            "adjacent": MOVE,
            "mu": np.ones(4),
            "shape": "full",
            "receivers": "others",
        },
    ),
    "message_laws.messages_delta": (([ENTRY],), {"epsilon": 1.0, "bins": 10}),
    "noise.NoiseScales": ((1.0, [1.0, 2.0]), {}),
    "noise.calibrated": ((PAPER,), {"adjacency": ADJACENCY, "epsilon": 1.0}),
    "noise.noise_support": ((PAPER, "full"), {}),
    "noise.sensitivities": ((PAPER,), {"adjacency": ADJACENCY}),
    "noise.trajectory_adjacency": ((3.0,), {}),
    "problem.Problem": (
        (
            (1, 1),
            [-9.0, -9],
            [9.0, 9],
            [0.0, 4],
            np.zeros((1, 2, 2)),
            np.zeros((1, 2)),
            [-1.0],
            [1.0, 1.0],
        ),
        {},
    ),
    "problem.agent": ((PAPER, 1), {}),
    "problem.in_own_units": ((PAPER,), {}),
    **{
        f"problem.{n}": ((PAPER, ZERO), {})
        for n in [
            "agent_objectives",
            "objective",
            "objective_gradient",
            "constraints",
            "jacobian",
            "is_slater_point",
        ]
    },
    **{
        f"problem.{n}": ((PAPER, ZERO, np.zeros(4)), {})
        for n in ["lagrangian", "lagrangian_gradient"]
    },
    "problem.lagrangian_hessian": ((PAPER, np.zeros(4)), {}),
    "problem.pairwise_constraint": (((1, 1), [(0, 1)]), {"limit": 4.0}),
    "reference.laplace_draws": ((stream(1, "x"), 3), {}),
    "reference.reported_states": ((PAPER, LIARS, 1, ZERO.copy(), np.zeros(8)), {}),
    "reference.simulate_reference": (
        (PAPER, DRAWS, LIARS),
        {
            "rng": stream(1, "x"),
            "x0": ZERO,
            "mu0": np.zeros(4),
            "radius": 10.0,
            "sizes": StepSizes(),
            "record": np.array([3]),
        },
    ),
    "released.agent_lower_bounds": (
        (PAPER, TABLE),
        {
            "adjacency": ADJACENCY,
            "gamma": 0.01,
            "alpha": 0.5,
            "shape": "full",
            "receivers": "others",
        },
    ),
    "released.far_apart": ((PAPER,), {"i": 1}),
    "released.first_messages_delta": (
        (PAPER, TABLE),
        {
            "i": 1,
            "adjacency": ADJACENCY,
            "shape": "structural",
            "epsilon": [1.0],
            "bins": 5,
        },
    ),
    "released.gradient_loss": (
        (PAPER, TABLE),
        {
            "i": 0,
            "x": ZERO,
            "adjacent": MOVE,
            "mu": np.ones(4),
            "shape": "full",
            "receivers": "others",
        },
    ),
    "released.silence_log_probability": (
        (PAPER, TABLE),
        {"x": ZERO, "mu": np.zeros(4), "gamma": 0.01, "alpha": 0.5},
    ),
    "released.two_step_loss": (
        (PAPER, TABLE),
        {
            "i": 0,
            "x": ZERO,
            "adjacent": MOVE,
            "mu": np.ones(4),
            "shape": "full",
            "gamma": 0.01,
            "alpha": 0.5,
            "receivers": "others",
        },
    ),
    "released.worst_gradient_loss": (
        (PAPER, TABLE),
        {"i": 0, "adjacency": ADJACENCY, "shape": "full", "receivers": "others"},
    ),
    "released.worst_two_step_loss": (
        (PAPER, TABLE),
        {
            "i": 0,
            "adjacency": ADJACENCY,
            "shape": "full",
            "gamma": 0.01,
            "alpha": 0.5,
            "receivers": "others",
        },
    ),
    "reports.Lie": ((5, [1.0, 2.0]), {"budget": 3.0}),
    "reports.Pretence": ((5, [1.0, 2.0]), {"weight": 1.0, "budget": 3.0}),
    "reports.replicas": ((PAPER, [reports.Lie(5, [1, 1])], ZERO), {}),
    "saddle.saddle_point": ((PAPER,), {"solver": "CLARABEL", "tolerance": 1e-9}),
    "saddle.regularised_saddle_point": (
        (PAPER, 0.5),
        {"start": POINT, "tolerance": 1e-9},
    ),
    "noise.matching": ((PAPER, TABLE, "f"), {}),
    "noise.trajectory_radius": ((ADJACENCY, "f"), {}),
    "simulation.checked_draws": ((PAPER, DRAWS, "f"), {}),
    "simulation.generators": (([stream(1, "x")], "f"), {}),
    "simulation.checked_record": (([0, 5], 5, "f"), {}),
    "simulation.output_draws": ((PAPER, TABLE, "full"), {}),
    "simulation.run_draws": (
        (PAPER, DRAWS),
        {
            "steps": 5,
            "radius": 10.0,
            "rng": stream(1, "x"),
            "sizes": StepSizes(),
            "lies": [reports.Lie(5, [1, 1])],
            "x0": ZERO,
            "mu0": np.zeros(4),
            "record": [0, 5],
        },
    ),
    "simulation.simulate": (
        (PAPER, TABLE),
        {
            "steps": 5,
            "radius": 10.0,
            "rng": stream(1, "x"),
            "sizes": StepSizes(),
            "lies": [reports.Lie(5, [1, 1])],
            "noise": "full",
            "x0": ZERO,
            "mu0": np.zeros(4),
            "record": [0, 5],
        },
    ),
    "simulation.simulate_pairs": (
        (PAPER, TABLE),
        {
            "streams": [stream(1, "x")],
            "steps": 5,
            "radius": 10.0,
            "sizes": StepSizes(),
            "lies": [reports.Lie(5, [1, 1])],
            "noise": "full",
            "x0": ZERO,
            "mu0": np.zeros(4),
            "record": [0, 5],
        },
    ),
    "simulation.sparse_rows": ((PAPER,), {}),
    "simulation.stacked": (([RUN, RUN],), {}),
}

OTHERS: list[Any] = [
    *(float("nan"), float("inf"), -1, -1.5, 0, 2**63, -(2**63) - 1, 2**80, 1e308),
    *(-1e308, 5e-324, 1 + 2j, Fraction(1, 3), np.float64(2.5), np.int64(3)),
    *(True, np.True_, "a", "", b"a", None, [], {}, {"a": 1}, [[1], [1, 2]], object()),
    *(np.zeros(0), np.zeros((3, 3, 3)), np.array(1.0), np.array("x")),
    np.datetime64("2020"),
    np.ma.array([1.0, 2.0], mask=[0, 1]),
    SMALL,
    *(noise.NoiseScales(b, np.full(k, b)) for b in (0.0, 1e-60, 1e60) for k in (1, 8)),
    *(
        Adjacency(name="a", unit="u", norm=norm, radius=radius)
        for norm, radius in (("l1", 1e308), ("l1", 1e-308), ("l1", 1e60), ("l2", 1.0))
    ),
]


def variants(good: Any) -> list[Any]:
    """Return arrays like a good one, but with something wrong or unusual."""
    try:
        plain = np.asarray(good)
    except ValueError:
        return []
    if plain.ndim == 0 or plain.dtype.kind not in "iuf":
        return []
    f = plain.astype(float)
    found: list[Any] = []
    for bad in (np.nan, np.inf, 1e308, -1e308, 1e60, -1.0):
        one = f.copy()
        one.flat[0] = bad
        found += [one, np.full(f.shape, bad)]
    small = np.clip(f, 0, 100)
    first = np.arange(f.size).reshape(f.shape) == 0
    read_only = f.copy()
    read_only.flags.writeable = False
    found += [
        *(small.astype(kind) for kind in (bool, complex, str, object, np.int8)),
        *(small.astype(kind) for kind in (np.uint64, np.float16, np.longdouble)),
        *(f[..., None], f[None], f[:0], f[:-1], np.asfortranarray(f), plain.tolist()),
        np.ma.array(f, mask=first),
        np.repeat(f, 2, axis=-1)[..., ::-2],
        read_only,
        [2**70] * plain.size,
    ]
    return found


def found_in(module: str) -> list[str]:
    loaded = importlib.import_module(f"dplib.truthful.{module}")
    return [
        f"{module}.{name}"
        for name in loaded.__all__
        if inspect.isfunction(found := getattr(loaded, name))
        and found.__module__ == loaded.__name__  # not one passed on by another
    ]


def finite(value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return bool(np.isfinite(value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind != "f" or bool(np.all(np.isfinite(value)))
    if isinstance(value, tuple | list):
        return all(map(finite, value))
    if dataclasses.is_dataclass(value):
        # No constraint active, and no budget: infinite by definition.
        names = {field.name for field in dataclasses.fields(value)}
        return all(finite(getattr(value, n)) for n in names - {"licq", "budget"})
    return True


ONE_SENTENCE = re.compile(
    r"The '[^']*' parameter of \S+ must .* Got .* instead\.", re.S
)


def complaint(key: str, plain: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Return what is wrong about how a call is met, or None."""
    module, name = key.split(".")
    called = getattr(importlib.import_module(f"dplib.truthful.{module}"), name)
    try:
        result = called(*plain, **named)
    except RuntimeError:  # the documented one, of what did not converge
        return None
    except (TypeError, ValueError) as error:
        return None if ONE_SENTENCE.fullmatch(str(error)) else repr(error)
    except Exception as error:
        return repr(error)
    if key == "reports.replicas" or finite(result):  # budgets there are infinite
        return None
    return "the result is not finite"


def test_every_function_has_a_call() -> None:
    named = [one.name for one in pkgutil.iter_modules(room.__path__)]
    public = {key for name in named if name[0] != "_" for key in found_in(name)}
    assert public - set(CALLS) == ELSEWHERE


@pytest.mark.parametrize("key", CALLS)
def test_one_wrong_argument_is_met_in_one_sentence(key: str) -> None:
    plain, named = CALLS[key]
    assert complaint(key, plain, named) is None
    for slot in [*range(len(plain)), *named]:
        good = plain[slot] if isinstance(slot, int) else named[slot]
        for bad in [*OTHERS, *variants(good)]:
            if isinstance(slot, int):
                call = (*plain[:slot], bad, *plain[slot + 1 :]), named
            else:
                call = plain, {**named, slot: bad}
            said = complaint(key, *call)
            assert said is None, f"{slot} = {bad!r}: {said}"


# Each of these was taken for something else before.
@pytest.mark.parametrize(
    ("key", "slot", "bad"),
    [
        ("experiment.perform", 1, "a"),
        ("experiment.liar_costs", 1, True),
        ("experiment.Setting", "first", True),
        ("experiment.Setting", "radius", np.ma.array([1.0], mask=[1])),
        ("experiment.Setting", "draws", None),
        ("deterrence.deviation", 1, np.ma.array([[1.0, 1], [2, 2]], mask=[[1, 0]] * 2)),
        ("joint_privacy.transcript_loss", "receivers", ""),
        ("lies.equilibrium", 5, True),
        ("kkt.polish", 4, True),
        ("message_laws.MessageEntry", "value", float("nan")),
        ("simulation.simulate", "lies", [reports.Lie(5, [1.0, 2.0, 3.0])]),
        ("simulation.run_draws", 1, simulation.output_draws(SMALL, None)),
    ],
)
def test_what_is_no_argument_at_all_is_refused(key: str, slot: Any, bad: Any) -> None:
    plain, named = CALLS[key]
    if isinstance(slot, int):
        plain = (*plain[:slot], bad, *plain[slot + 1 :])
    else:
        named = {**named, slot: bad}
    module, name = key.split(".")
    called = getattr(importlib.import_module(f"dplib.truthful.{module}"), name)
    with pytest.raises((TypeError, ValueError), match=ONE_SENTENCE):
        called(*plain, **named)
