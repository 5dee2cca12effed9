"""The mechanisms side by side."""

from __future__ import annotations

import pytest

from dplib.rewards.central import central_epsilon, central_shift
from dplib.rewards.comparison import (
    MECHANISMS,
    deviations,
    equally_private,
    mechanisms,
)


def test_nominal_mechanisms_show_an_entry_by_at_most_one_deviation():
    for law in mechanisms([2, 5, 3], sigma=1.0).values():
        assert central_shift(law, bound=1.0) <= 1.0 + 1e-12


@pytest.mark.parametrize("actions", [[4, 4], [2, 5], [3, 3, 3]])
def test_equally_private_mechanisms_have_one_true_epsilon(actions):
    laws = equally_private(actions, bound=2.0, epsilon=0.7, delta=0.05)
    for law in laws.values():
        assert central_epsilon(law, bound=2.0, delta=0.05) == pytest.approx(0.7, 1e-8)
    sizes = deviations(laws)
    assert sizes["printed"] == pytest.approx(sizes["exact"], rel=1e-12)
    assert sizes["balanced"] <= min(sizes.values()) * (1 + 1e-9)


def test_order_of_the_paper_for_the_printed_algorithm():
    sizes = deviations(mechanisms([4] * 5, sigma=1.0))
    assert tuple(sizes) == MECHANISMS
    assert sizes["projected"] < sizes["input"] < sizes["exact"] < sizes["printed"]


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="'sigma' parameter of mechanisms"):
        mechanisms([2, 2], sigma=-1.0)
    with pytest.raises(TypeError, match="'laws' parameter of deviations"):
        deviations([1.0])
