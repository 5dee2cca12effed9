"""The centroid's exact recursion against the algorithm itself."""

import numpy as np
import pytest

from dplib.truthful.algorithm import StepSizes, run
from dplib.truthful.centroid import (
    centroid_factors,
    centroid_floor,
    centroids,
    flow_time,
)
from dplib.truthful.problem import Problem, hale_egerstedt
from dplib.truthful.saddle import saddle_point


def changed(problem, **fields):
    names = ("dims", "lower", "upper", "targets", "Q", "a", "c", "weights")
    return Problem(**({name: getattr(problem, name) for name in names} | fields))


def test_flow_time_of_the_paper():
    assert round(flow_time(250_000), 4) == 3.5872
    assert round(np.exp(-flow_time(250_000)), 4) == 0.0277
    assert flow_time(0) == 0.0
    assert flow_time(2) == pytest.approx(0.01 + 0.01 * 2**-0.6, rel=1e-15)
    assert flow_time(1, StepSizes(first=7)) == pytest.approx(0.01 * 7**-0.6, rel=1e-15)


def test_recursion_is_exact_whatever_the_multipliers_do():
    rng = np.random.default_rng(5)
    record = [0, 1, 10, 100, 1000]
    for weight, sizes in ((1.0, StepSizes()), (0.7, StepSizes(first=50, c2=0.5))):
        problem = changed(hale_egerstedt(), weights=np.full(8, weight))
        x0, mu0 = rng.uniform(-3, 3, size=16), rng.uniform(0, 3, size=4)
        done = run(
            problem,
            steps=1000,
            radius=138.0,
            sizes=sizes,
            x0=x0,
            mu0=mu0,
            record=record,
        )
        means = done.x.reshape(-1, 8, 2).mean(axis=1)
        predicted = centroids(problem, record, sizes=sizes, x0=x0)
        np.testing.assert_allclose(means, predicted, rtol=0, atol=1e-12)


def test_closed_product():
    K, k = 5000, np.arange(1, 5001)
    gamma, alpha = 0.01 * k**-0.6, 0.5 * k ** (-1 / 3)
    ratios = 1 - gamma * (1 + alpha)
    later = np.append(np.cumprod(ratios[::-1])[::-1][1:], 1.0)
    P, S = centroid_factors([K])
    assert P[0] == pytest.approx(np.prod(ratios), rel=1e-12)
    assert S[0] == pytest.approx(np.sum(gamma * alpha * later), rel=1e-12)


def test_floor_of_the_paper():
    problem = hale_egerstedt()
    floor = centroid_floor(problem, [0, 250_000])
    assert round(float(floor[1]), 5) == 0.32293
    assert floor[0] == pytest.approx(np.sqrt(8) * np.hypot(2.25, 2.125), rel=1e-14)
    # Started at the mean target, only the regularisation's pull is left.
    _, S = centroid_factors([250_000])
    start = np.tile([2.25, -2.125], 8)
    assert centroid_floor(problem, [250_000], x0=start)[0] == pytest.approx(
        S[0] * floor[0], rel=1e-12
    )


def test_flow_time_approximation():
    P, _ = centroid_factors([250_000])
    k = np.arange(1, 250_001)
    sizes = StepSizes()
    pulled = np.sum(sizes.gamma(k) * sizes.alpha(k))
    assert round(float(pulled), 2) == 0.10
    assert P[0] == pytest.approx(np.exp(-flow_time(250_000) - pulled), rel=1e-3)
    assert P[0] < np.exp(-flow_time(250_000))


def test_floor_is_a_lower_bound_on_the_error():
    problem = hale_egerstedt()
    point = saddle_point(problem)
    done = run(problem, steps=5000, radius=138.0)
    errors = np.linalg.norm(done.x - point.x, axis=1)
    floor = centroid_floor(problem, done.steps)
    assert np.all(floor <= errors * (1 + 1e-12))
    np.testing.assert_allclose(
        point.x.reshape(8, 2).mean(axis=0),
        problem.targets.reshape(8, 2).mean(axis=0),
        rtol=0,
        atol=1e-13,
    )


def test_a_centroid_without_the_regularisation_would_be_caught():
    problem = hale_egerstedt()
    done = run(problem, steps=1000, radius=138.0, record=[1000])
    mean = done.x[-1].reshape(8, 2).mean(axis=0)
    k = np.arange(1, 1001)
    bare = np.prod(1 - 0.01 * k**-0.6)
    t = np.array([2.25, -2.125])
    assert np.abs(mean - (t - bare * t)).max() > 1e-3


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"weights": [1, 1, 1, 1, 1, 0, 1, 1]}, "same positive weight"),
        ({"weights": np.zeros(8)}, "same positive weight"),
        ({"a": np.ones((4, 16))}, "do not change when all agents shift alike"),
        ({"Q": np.tile(np.eye(16), (4, 1, 1))}, "when all agents shift alike"),
        ({"dims": (4, *(2,) * 6)}, "equally many coordinates"),
    ],
)
def test_problems_without_the_invariance_are_refused(fields, sentence):
    if "dims" in fields:
        fields = fields | {"weights": np.ones(7)}
    with pytest.raises(
        ValueError, match=f"'problem' parameter of centroids.*{sentence}"
    ):
        centroids(changed(hale_egerstedt(), **fields), [1])


def test_bad_records_are_refused():
    for record in ([], [2, 1], [-1], [0.5]):
        with pytest.raises(ValueError, match="'record' parameter of centroid_factors"):
            centroid_factors(record)
    with pytest.raises(ValueError, match="'weight' parameter of centroid_factors"):
        centroid_factors([1], weight=0.0)


def test_unsigned_record_of_the_centroid():
    with pytest.raises(ValueError, match="'record' parameter of centroid_factors"):
        centroid_factors(np.array([7, 3, 9], np.uint8))


def test_no_raw_error_from_the_centroid():
    with pytest.raises(TypeError, match="'sizes' parameter of flow_time"):
        flow_time(10, sizes="paper")
    with pytest.raises(TypeError, match="'sizes' parameter of centroid_factors"):
        centroid_factors([1], sizes=0.1)
    with pytest.raises(TypeError, match="'problem' parameter of centroids"):
        centroids(None, [1])
    with pytest.raises(ValueError, match="'record' parameter of centroid_factors"):
        centroid_factors([[1], [1, 2]])
