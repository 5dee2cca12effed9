"""The paper's experiment: starts, common random numbers, distances, costs."""

import numpy as np
import pytest

from dplib.truthful import experiment
from dplib.truthful.input_perturbation import report_draws
from dplib.truthful.reports import Lie


def first(number, **choices):
    setting = experiment.Setting(**choices)
    return experiment.perform(3, number, steps=1, setting=setting, record=[0])


def test_the_four_starts():
    problem, _ = experiment.instance()
    assert np.all(first(0).x == 0.0)
    assert np.array_equal(first(0, start="targets").x[0, 0], problem.targets)
    # The mean of the paper's targets is (2.25, -2.125).
    mean = first(0, start="mean target").x[0, 0].reshape(8, 2)
    assert np.all(mean == [2.25, -2.125])
    drawn = [first(k, start="uniform").x[0, 0] for k in (0, 0, 1)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    assert np.all(np.abs(drawn[2]) <= 10.0)
    assert np.all(first(0, mu0=2.0).mu == 2.0)


def test_runs_of_one_number_share_their_noise_across_starts():
    """One step from two starts differs by what the starts explain, not by noise."""
    one = experiment.perform(3, 5, steps=1)
    other = experiment.perform(3, 5, steps=1, setting=experiment.Setting(radius=130.0))
    another = experiment.perform(3, 6, steps=1)
    assert np.array_equal(one.mu, other.mu)
    assert not np.array_equal(one.mu, another.mu)


def test_distances_and_costs():
    problem, point = experiment.instance()
    run = experiment.perform(3, 0, steps=50, lies=[experiment.paper_lie()])
    error_x, error_mu = experiment.errors(run)
    assert error_x.shape == error_mu.shape == (2, 1)
    assert error_x[0, 0] == pytest.approx(np.linalg.norm(run.x[0, 0] - point.x))
    gap = run.x[1, 0, 10:12] - problem.targets[10:12]
    assert experiment.liar_costs(run)[1, 0] == pytest.approx(gap @ gap / 2)


def test_less_noise_and_noise_elsewhere_change_the_run():
    problem, _ = experiment.instance()
    setting = experiment.Setting(draws=report_draws(problem, scale=2.7))
    lies = [Lie(experiment.LIAR, [-10, -10])]
    quiet = experiment.perform(3, 0, steps=200, setting=setting, lies=lies)
    loud = experiment.perform(3, 0, steps=200, lies=lies)
    assert np.abs(quiet.x - loud.x).max() > 0.1


def test_bad_settings_get_one_sentence():
    with pytest.raises(ValueError, match="'start' parameter of Setting"):
        experiment.Setting(start="home")
    with pytest.raises(ValueError, match="'mu0' parameter of Setting"):
        experiment.Setting(mu0=-1.0)
    with pytest.raises(ValueError, match="'first' parameter of Setting"):
        experiment.Setting(first=0)
