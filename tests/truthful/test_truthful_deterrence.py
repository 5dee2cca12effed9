"""The gain of limited lies: the bound against exact laws, and weaker variants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from dplib.truthful.deterrence import deviation, gain_bound


def expected_cost(reports, scale, cost):
    """E cost(reply) for one reply, the report plus Laplace noise; by quadrature."""

    def integrand(y):
        return cost(y) * np.exp(-abs(y - reports) / scale) / (2 * scale)

    cuts = [reports, 0.0, 1.0]
    value, _ = quad(integrand, -60, 60, points=cuts, limit=400, epsabs=1e-12)
    return value


@pytest.mark.parametrize("lie", [0.2, 1.0, 5.0])
@pytest.mark.parametrize(
    "cost", [lambda y: min(max(y, 0.0), 1.0), lambda y: float(y > 0.0)]
)
def test_bound_holds_for_one_reply(cost, lie):
    epsilon, B = 0.7, 2.0
    scale = B / epsilon  # epsilon for reports that change by B
    truth = expected_cost(1.0, scale, cost)
    gain = truth - expected_cost(1.0 - lie, scale, cost)
    bound = gain_bound(truth, epsilon=epsilon, lie=lie, B=B)
    assert 0.0 < gain <= bound + 1e-9


def test_bound_is_tight_in_the_tail():
    """A cost paid only far above both reports: the ratio is exact."""
    epsilon, B, lie = 0.7, 2.0, 1.5
    scale = B / epsilon
    tail = [0.5 * np.exp(-(5.0 - report) / scale) for report in (0.0, -lie)]
    bound = gain_bound(tail[0], epsilon=epsilon, lie=lie, B=B)
    assert tail[0] - tail[1] == pytest.approx(bound, rel=1e-12)
    # Half of the privacy budget (a reply that is not counted) would be too little.
    mutant = gain_bound(tail[0], epsilon=epsilon / 2, lie=lie, B=B)
    assert tail[0] - tail[1] > mutant


@given(st.floats(0, 1e3), st.floats(1e-3, 10), st.floats(0, 1e4), st.floats(1e-2, 100))
def test_bound_lies_between_nothing_and_everything(cost, epsilon, lie, B):
    bound = gain_bound(cost, epsilon=epsilon, lie=lie, B=B)
    assert 0.0 <= bound <= cost
    assert bound <= gain_bound(cost, epsilon=epsilon, lie=2 * lie, B=B)
    assert bound <= cost * epsilon * lie / B * (1 + 1e-12) + 1e-300  # subnormals


def test_endless_lies_are_not_bounded():
    assert gain_bound(7.0, epsilon=0.1, lie=float("inf"), B=3.0) == 7.0


def test_deviation_is_in_the_one_norm():
    truth = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_array_equal(deviation(truth, [[1, -1], [0, 0]]), [2.0, 7.0])
    assert deviation(truth, [0.0, 0.0])[1] != np.linalg.norm(truth[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gain_bound(-1.0, epsilon=1.0, lie=1.0, B=1.0), "'cost'"),
        (lambda: gain_bound(1.0, epsilon=0.0, lie=1.0, B=1.0), "'epsilon'"),
        (lambda: gain_bound(1.0, epsilon=1.0, lie=-1.0, B=1.0), "'lie'"),
        (lambda: gain_bound(1.0, epsilon=1.0, lie=1.0, B=0.0), "'B'"),
        (lambda: deviation([[0.0, 0.0]], [0.0]), "'reported'"),
        (lambda: deviation([0.0, 0.0], [0.0]), "'truth'"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_masked_and_huge_reports_are_refused() -> None:
    masked = np.ma.array([[1.0, 2.0]], mask=[[True, False]])
    for truth, reported in [(masked, [[1.0, 2.0]]), ([[1.0, 2.0]], masked)]:
        with pytest.raises(ValueError, match="without masked entries"):
            deviation(truth, reported)
    with pytest.raises(ValueError, match=r"'reported' .* size at most"):
        deviation([[1.0, 2.0]], [1e308, 1e308])


def test_tiny_factors_do_not_cancel_to_nothing() -> None:
    # epsilon times the lie underflowed before B, as small, was divided by.
    bound = gain_bound(1.0, epsilon=1e-200, lie=1e-200, B=1e-300)
    assert bound == pytest.approx(1e-100, rel=1e-12)
