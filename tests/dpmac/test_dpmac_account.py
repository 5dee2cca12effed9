"""The account of Section 5.1: by hand, by an accountant, and sabotaged."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from scipy import stats

from dplib.dpmac import account, paper
from dplib.privacy.gaussian import gaussian_delta
from dplib.privacy.sampling import sampled_gaussian_log_delta

RATES = {"gamma1": 0.04, "gamma2": 1.0, "N": 2.0}
CODE = {"delta": 1e-4, "beta": 0.5, **RATES}


@pytest.mark.parametrize(
    ("short", "deviations"),
    [
        ("CN", (0.659563, 6.440988, 64.253190)),
        ("CCN", (0.659563, 6.440988, 64.253190)),
        ("PP", (0.412227, 4.025617, 40.158244)),
    ],
)
def test_noise_of_the_published_code(short, deviations):
    """Printed by the code itself, run once."""
    task = paper.TASKS[short]
    ours = [paper.noise_sigma(task, epsilon=e) for e in paper.BUDGETS]
    assert ours == pytest.approx(deviations, abs=1e-6)


def test_variance_is_where_the_two_halves_of_the_budget_are_spent():
    """3.5 gamma^2 (2C)^2 alpha / sigma^2, gamma_2 N times, is beta epsilon."""
    sigma = account.theorem_sigma(epsilon=0.3, C=0.7, **CODE)
    alpha = account.condition(epsilon=0.3, **CODE).alpha
    renyi = 2.0 * 3.5 * 0.04**2 * 1.4**2 * alpha / sigma**2
    assert renyi == pytest.approx(0.5 * 0.3, rel=1e-12)
    assert math.log(1e4) / (alpha - 1.0) == pytest.approx(0.5 * 0.3, rel=1e-12)


@pytest.mark.parametrize("messages", [1, 2, 50])
@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_true_epsilon_agrees_with_an_accountant(messages, epsilon):
    """Messages composed one by one, each with noise sigma / (2C)."""
    sigma = paper.noise_sigma(paper.TASKS["CN"], epsilon=epsilon)
    accountant = dp_accounting.pld.PLDAccountant(
        value_discretization_interval=1e-3,
        neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_SPECIAL,
    )
    accountant.compose(dp_accounting.GaussianDpEvent(sigma), messages)
    theirs = accountant.get_epsilon(1e-4)
    ours = account.message_epsilon(messages=messages, sigma=sigma, C=0.5, delta=1e-4)
    assert ours - 1e-6 <= theirs <= ours + 2e-3 * messages


def test_true_epsilon_by_messages_drawn_in_eight_coordinates():
    """Opposite messages of norm C attain the curve: the loss, sampled."""
    rng = np.random.default_rng(5)
    sigma, size = 1.1, 8
    x = np.full(size, 0.5 / math.sqrt(size))
    y = x + sigma * rng.standard_normal((200_000, size))
    loss = (((y + x) ** 2).sum(axis=1) - ((y - x) ** 2).sum(axis=1)) / (2 * sigma**2)
    sampled = np.maximum(-np.expm1(1.0 - loss), 0.0).mean()
    exact = float(gaussian_delta(sensitivity=1.0, sigma=sigma, epsilon=1.0))
    assert sampled == pytest.approx(exact, rel=0.05)
    wrong_norm = gaussian_delta(sensitivity=0.5, sigma=sigma, epsilon=1.0)
    half_noise = gaussian_delta(sensitivity=1.0, sigma=sigma / 2, epsilon=1.0)
    assert not 0.9 * exact < wrong_norm < 1.1 * exact
    assert not 0.9 * exact < half_noise < 1.1 * exact


@pytest.mark.parametrize(
    ("s", "alpha", "holds"),
    [(0.7, 9.0, True), (0.69, 1.5, False), (0.0, 1.5, False), (5.0, 9.1, False)],
)
def test_the_condition_is_two_inequalities_and_each_of_them_counts(s, alpha, holds):
    assert account.Condition(s=s, alpha=alpha, allowed=9.0).holds == holds


@pytest.mark.parametrize("gamma1", [1 / 25, 1 / 40])
@pytest.mark.parametrize("epsilon", paper.BUDGETS)
def test_no_split_meets_the_condition_at_the_published_rates(gamma1, epsilon):
    setting = CODE | {"gamma1": gamma1, "epsilon": epsilon}
    for beta in np.r_[np.geomspace(1e-12, 0.5, 300), 1 - np.geomspace(1e-6, 0.5, 50)]:
        assert not account.condition(**setting | {"beta": float(beta)}).holds


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_largest_rate_is_nearly_attained_and_never_passed(epsilon):
    top = account.largest_rate(epsilon=epsilon, delta=1e-4)

    def some(rate):
        setting = CODE | {"gamma1": rate, "epsilon": epsilon}
        tried = np.geomspace(1e-12, 0.5, 3000)
        return any(
            account.condition(**setting | {"beta": float(beta)}).holds for beta in tried
        )

    assert some(0.98 * top)
    assert not some(1.001 * top)


def test_left_to_right_holds_in_three_of_six_settings():
    found = {
        (round(1 / rate), epsilon): account.condition(
            **CODE | {"gamma1": rate, "epsilon": epsilon}, reading="left to right"
        ).holds
        for rate in (1 / 25, 1 / 40)
        for epsilon in paper.BUDGETS
    }
    assert {one for one, holds in found.items() if holds} == {
        (25, 0.1),
        (25, 0.01),
        (40, 0.01),
    }


def test_left_to_right_theorem_is_false():
    """One message, one receiver, delta = 1e-40: the exact delta is larger."""
    setting = {"epsilon": 1.5, "delta": 1e-40, "beta": 0.2, "gamma1": 1 / 8}
    rates = {"gamma2": 1.0, "N": 1.0}
    literal = account.condition(**setting, **rates, reading="left to right")
    assert literal.holds
    assert not account.condition(**setting, **rates).holds
    exact = sampled_gaussian_log_delta(
        sensitivity=1.0, sigma=math.sqrt(literal.s), epsilon=1.5, rate=1 / 8
    )
    assert exact > math.log(1e-40) + 1.0


def test_capacity_is_the_information_of_a_gaussian_code():
    bits = account.capacity(C=0.5, sigma=0.66, size=8)
    sums = np.eye(8) * (1.0 + 0.25 / 8 / 0.66**2)
    assert bits == pytest.approx(np.linalg.slogdet(sums)[1] / math.log(4), rel=1e-12)
    # Two opposite messages are one sender; they cannot carry more.
    y = np.linspace(-6.0, 6.0, 40_001)
    p = (stats.norm.pdf(y, 0.5, 0.66) + stats.norm.pdf(y, -0.5, 0.66)) / 2
    entropy = -np.sum(p * np.log2(p)) * (y[1] - y[0])
    noise = 0.5 * math.log2(2.0 * math.pi * math.e * 0.66**2)
    assert 0.3 < entropy - noise < bits


@pytest.mark.parametrize(
    ("name", "bad"),
    [("delta", 0.0), ("delta", 1.0), ("beta", 1.0), ("gamma1", 0.0), ("epsilon", 0.0)],
)
def test_what_a_reader_types_is_checked(name, bad):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        account.theorem_sigma(C=0.5, **{"epsilon": 1.0, **CODE, name: bad})


@pytest.mark.parametrize(
    ("name", "bad", "error"),
    [
        ("messages", 0, ValueError),
        ("messages", 1.5, TypeError),
        ("C", -0.5, ValueError),
        ("C", "1", TypeError),
    ],
)
def test_sentences_on_messages_name_what_the_reader_typed(name, bad, error):
    setting = {"messages": 1, "sigma": 1.0, "C": 0.5, "delta": 1e-4, name: bad}
    with pytest.raises(error, match=f"'{name}' parameter of message_epsilon"):
        account.message_epsilon(**setting)


def test_a_reading_is_one_of_two():
    with pytest.raises(ValueError, match="'reading' parameter of condition"):
        account.condition(epsilon=1.0, **CODE, reading="lema")
