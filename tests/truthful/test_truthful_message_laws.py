"""Laws of single messages: what is in them, and what binning keeps."""

import math

import numpy as np
import pytest

from dplib.rng import stream
from dplib.truthful.message_laws import (
    MessageEntry,
    binned_laws,
    message_entries,
    messages_delta,
)
from dplib.truthful.noise import noise_support, table_one
from dplib.truthful.paper import hale_egerstedt
from dplib.truthful.problem import jacobian

PROBLEM = hale_egerstedt()


@pytest.mark.parametrize("shape", ["full", "structural"])
def test_entries_are_the_law_of_sampled_messages(shape):
    """Variance of 1e5 messages, twelve standard errors; and their means."""
    n, random = 100_000, stream(11, "messages")
    x = random.uniform(-5, 5, 16)
    moved, mu = x.copy(), np.array([0.5, 2.0, 0.0, 1.0])
    moved[8] += 3.0  # agent 5
    entries = message_entries(
        PROBLEM, table_one(), i=4, x=x, adjacent=moved, mu=mu, shape=shape
    )
    assert [one.receiver for one in entries] == [2, 3, 6]
    scales = np.repeat(table_one().b, 2)
    noise = random.laplace(0, 1, (n, 4, 16)) * scales * noise_support(PROBLEM, shape)
    q = np.einsum("l,slc->sc", mu, jacobian(PROBLEM, x) + noise)
    for one in entries:
        sample = q[:, 2 * one.receiver]
        variance = 2 * np.sum(one.scales**2)
        assert abs(sample.mean() - one.value) < 6 * math.sqrt(variance / n)
        assert np.var(sample) == pytest.approx(variance, rel=12 * math.sqrt(5 / n))


def test_delta_of_two_equal_entries_in_closed_form():
    """1 - (1 + h/2) exp(-h) with h = r - epsilon/2, for epsilon between r and 2 r."""
    for r, epsilon in ((1.0, 1.0), (2.0, 3.0), (1.5, 2.9)):
        h = r - epsilon / 2
        exact = -math.expm1(-h) - 0.5 * h * math.exp(-h)
        entry = MessageEntry(0, 0.0, r, np.array([1.0]))
        binned = messages_delta([entry, entry], epsilon=epsilon, bins=600)
        assert exact - 1e-5 < binned <= exact + 1e-15


def test_one_entry_of_two_equal_scales_loses_less():
    """Hidden in two Laplace variables the same shift shows less often."""
    one = MessageEntry(0, 0.0, 2.0, np.array([1.0]))
    two = MessageEntry(0, 0.0, 2.0, np.array([1.0, 1.0]))
    assert one.loss == two.loss == 2.0
    assert messages_delta([two], epsilon=1.0) < messages_delta([one], epsilon=1.0)
    log_p, log_q = binned_laws(two, bins=2000, reach=200.0)
    assert np.abs(log_p - log_q).max() == pytest.approx(2.0, abs=0.02)


def test_bad_arguments():
    with pytest.raises(ValueError, match="integer between 4 and"):
        binned_laws(MessageEntry(0, 0.0, 1.0, np.array([1.0])), bins=3)
    with pytest.raises(ValueError, match="one to three"):
        messages_delta([], epsilon=1.0)
