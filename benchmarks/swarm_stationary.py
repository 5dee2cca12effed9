"""What a snapshot of a swarm shows, by collaboration tree and by sparse LU.

On the pairs and triples of Prorok and Kumar's section 6.1 with 220, 220 and 200 robots
(24,321 states), this prints CPU milliseconds on one core, in interleaved rounds, of

- the dynamic programme over the tree, which lists no state;
- the normalised product form over all states;
- sparse LU on the generator, as a reader would solve for the steady state with scipy:
  with the states and the generator given, and from the start.

All must find the same probabilities. It writes no file.

    python benchmarks/swarm_stationary.py
"""

import statistics
import time

import numpy as np
from scipy.sparse.linalg import splu

from dplib.macroscopic import paper, stationary, trees
from dplib.macroscopic.distribution import observe
from dplib.macroscopic.states import generator, reachable

COUNTS, ROUNDS = (220, 220, 200), 5

# What was promised: the tree against sparse LU on the generator.
PROMISED = 100.0


def by_tree(swarm):
    """Return log probabilities of what is observed, uncached."""
    return trees.observed(swarm)(COUNTS).log_p


def by_formula(swarm):
    """Return them by the product form over all states."""
    return observe(stationary.product_form(swarm, COUNTS), swarm.query).log_p


def solved(chain):
    """Return the null vector of a generator: one state's weight is 1, the rest solved."""
    balance = chain.T.tocsc()
    weights = splu(balance[1:, 1:]).solve(-balance[1:, [0]].toarray().ravel())
    weights = np.append(1.0, weights)
    return weights / weights.sum()


def from_the_start(swarm):
    """List the states, build the generator, solve."""
    states = reachable(swarm.network, swarm.start(COUNTS))
    return solved(generator(swarm.network, states))


def main():
    """Print the times and their ratios."""
    swarm = paper.pairs()
    states = reachable(swarm.network, swarm.start(COUNTS))
    chain = generator(swarm.network, states)
    calls = {
        "tree": lambda: by_tree(swarm),
        "product form": lambda: by_formula(swarm),
        "sparse LU, generator given": lambda: solved(chain),
        "sparse LU, from the start": lambda: from_the_start(swarm),
    }
    times = {name: [] for name in calls}
    results = {name: call() for name, call in calls.items()}  # compiles
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begun = time.process_time()
            call()
            times[name].append(1e3 * (time.process_time() - begun))
    own = np.exp(results["tree"])
    ones = np.sort(own)
    for name in ("sparse LU, generator given", "sparse LU, from the start"):
        assert np.abs(np.sort(results[name]) - ones).max() < 1e-9, name
    assert np.allclose(results["tree"], results["product form"], atol=1e-8)
    fastest = statistics.median(times["tree"])
    print(f"{len(states):,} states, median of {ROUNDS} rounds, CPU ms")
    for name, rounds in times.items():
        middle = statistics.median(rounds)
        print(f"{name:<28} {middle:9.2f}   {middle / fastest:8.1f} x the tree")
    lu = statistics.median(times["sparse LU, generator given"]) / fastest
    whole = statistics.median(times["sparse LU, from the start"]) / fastest
    print(f"promised {PROMISED:.0f} x: solve alone {lu:.0f} x, whole {whole:.0f} x")


if __name__ == "__main__":
    main()
