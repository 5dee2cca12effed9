"""What a privacy claim rests on is checked where it enters, in one sentence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplib.privacy import divergence, gaussian, laplace, sampling
from dplib.privacy.adjacency import Adjacency
from dplib.privacy.composition import Release
from dplib.privacy.trajectory import LaplaceChannel, laplace_budget

ROW = {"name": "row", "unit": "one row replaced", "norm": "l1", "radius": 1.0}
BITS = {"log_p": np.log([0.5, 0.5]), "log_q": np.log([0.4, 0.6])}
RULE = {"sensitivity": 1.0, "epsilon": 0.5, "delta": 0.1}
CURVE = {"sensitivity": 1.0, "sigma": 1.0, "epsilon": 1.0}

GOOD = {
    Adjacency: ROW,
    Release: {"name": "r", "epsilon": 1.0, "adjacency": Adjacency(**ROW)},
    LaplaceChannel: {"name": "m", "sensitivity": 1.0, "scale": 1.0},
    divergence.max_divergence: BITS,
    divergence.hockey_stick: BITS | {"epsilon": 1.0},
    divergence.smooth: {"log_p": BITS["log_p"], "nu": 0.1},
    laplace.laplace_scale: {"sensitivity": 1.0, "epsilon": 1.0},
    laplace.laplace_epsilon: {"sensitivity": 1.0, "scale": 1.0},
    laplace.laplace_delta: {"epsilon": 0.0, "shift": 1.0, "scale": 1.0},
    gaussian.kappa_sigma: RULE,
    gaussian.analytic_sigma: RULE,
    gaussian.classic_sigma: RULE,
    gaussian.group_sensitivity: {"sensitivity": 1.0, "entries": 2},
    gaussian.gaussian_delta: CURVE,
    gaussian.gaussian_epsilon: {"sensitivity": 1.0, "sigma": 1.0, "delta": 0.1},
    sampling.sampled_epsilon: {"epsilon": 1.0, "rate": 0.5},
    sampling.sampled_gaussian_log_delta: CURVE | {"rate": 0.5},
}

BAD = [
    (Adjacency, "unit", " "),
    (Adjacency, "norm", "L1"),
    (Adjacency, "radius", 0.0),
    (Release, "epsilon", -1.0),
    (Release, "epsilon", math.inf),
    (Release, "delta", 1.1),
    (LaplaceChannel, "sensitivity", -1.0),
    (LaplaceChannel, "scale", 0.0),
    (divergence.max_divergence, "log_p", [0.0, math.nan]),
    (divergence.max_divergence, "log_p", [0.0, math.inf]),
    (divergence.max_divergence, "log_p", []),
    (divergence.max_divergence, "log_p", 0.0),
    (divergence.max_divergence, "log_p", [-math.inf, -math.inf]),
    (divergence.max_divergence, "log_q", BITS["log_q"] + 1.1e-9),
    (divergence.max_divergence, "log_q", [0.0]),
    (divergence.max_divergence, "log_q", [BITS["log_q"], BITS["log_q"] - 0.01]),
    (divergence.smooth, "log_p", [BITS["log_p"], BITS["log_p"] - 0.01]),
    (divergence.hockey_stick, "epsilon", -1.0),
    (divergence.smooth, "nu", -1e-5),
    (laplace.laplace_scale, "sensitivity", 0.0),
    (laplace.laplace_scale, "epsilon", math.nan),
    (laplace.laplace_epsilon, "scale", 0.0),
    (laplace.laplace_delta, "epsilon", -0.1),
    (laplace.laplace_delta, "shift", -1.0),
    (gaussian.kappa_sigma, "sensitivity", -1.0),
    # The paper's closed end 0 has an infinite quantile; 1/2 it excludes itself.
    (gaussian.kappa_sigma, "delta", 0.0),
    (gaussian.kappa_sigma, "delta", 0.5),
    # At 1e100 the true delta of the returned deviation was 1, not 0.1.
    (gaussian.kappa_sigma, "epsilon", 1.1e12),
    (gaussian.kappa_sigma, "epsilon", 0.0),
    (gaussian.analytic_sigma, "epsilon", 2000.0),
    (gaussian.analytic_sigma, "delta", 1e-305),
    # At epsilon = 1 the proof of the classic rule ends.
    (gaussian.classic_sigma, "epsilon", 1.0),
    (gaussian.classic_sigma, "delta", 1.0),
    (gaussian.group_sensitivity, "entries", 0),
    (gaussian.gaussian_delta, "sigma", 0.0),
    (gaussian.gaussian_delta, "sensitivity", 1e-50),
    (gaussian.gaussian_delta, "epsilon", [1.0, -1.0]),
    (sampling.sampled_epsilon, "epsilon", -1.0),
    (sampling.sampled_epsilon, "rate", 0.0),
    (sampling.sampled_gaussian_log_delta, "sigma", 0.0),
    (gaussian.gaussian_epsilon, "sensitivity", 1.1e8),
    (gaussian.gaussian_epsilon, "delta", 1e-305),
    (gaussian.gaussian_epsilon, "delta", -0.1),
]


@pytest.mark.parametrize("entry", GOOD)
def test_good_arguments_pass_and_have_names(entry) -> None:
    entry(**GOOD[entry])
    with pytest.raises(TypeError, match="positional"):
        entry(*GOOD[entry].values())


@pytest.mark.parametrize(("entry", "name", "value"), BAD)
def test_a_bad_argument_is_met_with_one_sentence(entry, name, value) -> None:
    match = f"^The '{name}' parameter of .* must .* Got .* instead"
    with pytest.raises(ValueError, match=match):
        entry(**GOOD[entry] | {name: value})


def test_no_statement_without_an_adjacency() -> None:
    with pytest.raises(TypeError, match=r"missing 1 required keyword-only.*adjacency"):
        Release(name="count", epsilon=1.0)
    with pytest.raises(TypeError, match=r"missing 1 required keyword-only.*adjacency"):
        laplace_budget([LaplaceChannel(**GOOD[LaplaceChannel])], name="m")


@pytest.mark.parametrize("norm", ["l2", "linf", "hamming"])
def test_the_budget_of_a_trajectory_is_in_the_l1_norm(norm) -> None:
    channel = LaplaceChannel(**GOOD[LaplaceChannel])
    with pytest.raises(ValueError, match="in the l1 norm"):
        laplace_budget([channel], adjacency=Adjacency(**ROW | {"norm": norm}), name="m")


def test_a_distribution_within_the_tolerance_passes() -> None:
    near = BITS["log_p"] + 0.9 * divergence.NORMALISATION_TOLERANCE
    assert divergence.max_divergence(log_p=near, log_q=BITS["log_q"]) > 0.0
