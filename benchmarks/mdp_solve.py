"""One private solve against plain value iteration and against QuantEcon's solvers.

On Benvenuti et al.'s grid (two agents, 256 joint states, 25 joint actions, discount
0.99), for one private reward, this prints CPU milliseconds on one core, in interleaved
rounds, to an error of the values of at most 1e-7:

- dplib by modified policy iteration (what studies here use), by value iteration with
  span stopping, by policy iteration, and by plain value iteration with sup-norm
  stopping, all on the same compiled backup;
- QuantEcon's DiscreteDP by its three methods, with dense and with sparse transitions.

All must find the same policy. Then the time of one backup for teams of one to four
agents on a 3 x 3 grid, next to the sum and the product of the agents' local successors:
agent by agent a backup costs the sum. It writes no file.

    python benchmarks/mdp_solve.py
"""

import statistics
import time

import numpy as np
import quantecon
from scipy.sparse import csr_matrix

from dplib.mdp.factored import FactoredMDP, backup_operations, dense
from dplib.mdp.gridworld import gridworld
from dplib.mdp.kernel import improve
from dplib.mdp.policy_iteration import policy_iteration
from dplib.mdp.solve import solve, value_iteration
from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards.mechanism import input_noise, standard_draw
from dplib.rewards.paper import example_two
from dplib.rng import stream

ACCURACY, ROUNDS = 1e-7, 15

# What was promised.
PLAIN, THEIRS = 50.0, 1.0


def private_reward(example):
    """Return one private joint reward of Algorithm 1, epsilon 1.3, b = 1."""
    sigma = kappa_sigma(sensitivity=1.0, epsilon=1.3, delta=0.1)
    actions = example.model.actions
    draw = standard_draw(256, actions, samples=1, rng=stream(1, "benchmark"))
    return example.rewards + input_noise(actions, sigma=sigma).noise(draw)[0]


def quantecon_calls(model, rewards):
    """Return QuantEcon's solvers, transitions dense and sparse."""
    n, m = rewards.shape
    law = np.array(dense(model).transitions)
    s, a = np.divmod(np.arange(n * m), m)
    pairs = (rewards.ravel(), csr_matrix(law.reshape(n * m, n)))
    full = quantecon.markov.DiscreteDP(rewards, law, model.discount)
    thin = quantecon.markov.DiscreteDP(*pairs, model.discount, s, a)
    calls = {}
    for kind, problem in (("dense", full), ("sparse", thin)):
        for method in (
            "modified_policy_iteration",
            "policy_iteration",
            "value_iteration",
        ):

            def call(problem=problem, method=method):
                # Their epsilon is twice the error of the values.
                found = problem.solve(
                    method=method, epsilon=2 * ACCURACY, max_iter=10_000
                )
                return found.v, found.sigma

            calls[f"QuantEcon, {kind}: {method.replace('_', ' ')}"] = call
    return calls


def our_calls(model, rewards):
    """Return the solvers of dplib."""

    def wrapped(solver, **options):
        def call():
            found = solver(model, rewards, **options)
            return found.values, found.policy

        return call

    return {
        "modified policy iteration": wrapped(solve, tolerance=ACCURACY),
        "value iteration, span": wrapped(value_iteration, tolerance=ACCURACY),
        "policy iteration": wrapped(policy_iteration),
        "value iteration, sup norm": wrapped(
            value_iteration, tolerance=ACCURACY, stopping="sup"
        ),
    }


def milliseconds(calls, rounds):
    """Return the median CPU time of each call, in interleaved rounds."""
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(1e3 * (time.process_time() - start))
    return {name: statistics.median(many) for name, many in times.items()}


def backup_times():
    """Return rows (agents, pairs, ns per pair, operations per pair, sum, product)."""
    own = gridworld(3, 3, slip=0.1, law="other action")
    each = np.count_nonzero(own) / (9 * 5)
    rows = []
    for agents in (1, 2, 3, 4):
        team = FactoredMDP((own,) * agents, 0.99)
        n, m = team.n_states, team.n_actions
        rewards = stream(1, "backup", agents).standard_normal((m, n))
        values = np.zeros(n)
        best, policy = np.empty(n), np.empty(n, dtype=np.int64)
        scratch = np.empty((2, n * m // 5))
        repeats = max(3, 2_000_000 // (n * m))

        def call(data=(team, rewards, values, scratch, best, policy), times=repeats):
            model, r, v, work, top, acts = data
            for _ in range(times):
                improve(model.rows, r, 0.99, v, work, top, acts)

        call()
        nanoseconds = 1e6 * milliseconds({"": call}, 5)[""] / repeats / (n * m)
        counted = backup_operations(team) / (n * m)
        rows.append((agents, n * m, nanoseconds, counted, agents * each, each**agents))
    return rows


def main():
    """Compare, and print what was promised beside it."""
    example = example_two(5.0, discount=0.99)
    rewards = private_reward(example)
    ours, theirs = (
        our_calls(example.model, rewards),
        quantecon_calls(example.model, rewards),
    )
    exact, policy = ours["policy iteration"]()
    for name, call in (ours | theirs).items():
        values, found = call()
        error = np.abs(values - exact).max()
        assert error < 1.01 * ACCURACY, f"{name} errs by {error}"
        assert np.array_equal(found, policy), f"{name} finds another policy"
    times = milliseconds(ours | theirs, ROUNDS)
    first = times["modified policy iteration"]
    print(f"{'one private solve to 1e-7':48}{'CPU ms':>9}{'dplib is':>12}")
    for name, value in times.items():
        print(f"{name:48}{value:9.3g}{value / first:10.3g} x")
    best = min(times[name] for name in theirs)
    plain = times["value iteration, sup norm"] / first
    print(f"plain value iteration: {plain:.3g} x, promised {PLAIN:g} x")
    print(f"best QuantEcon call: {best / first:.3g} x, promised {THEIRS:g} x")

    print("\none backup, per joint state and action")
    print(
        f"{'agents':>6}{'pairs':>11}{'ns':>8}{'products':>10}{'sum':>8}{'product':>9}"
    )
    rows = backup_times()
    for agents, pairs, ns, counted, total, product in rows:
        print(
            f"{agents:6d}{pairs:11,d}{ns:8.2f}{counted:10.2f}{total:8.1f}{product:9.1f}"
        )
    # From two agents on: of so small a problem as one agent the overhead is seen.
    grown, allowed, product = (rows[-1][k] / rows[1][k] for k in (2, 4, 5))
    print(
        f"from two agents to four: time {grown:.2f} times, sum {allowed:.2f}, "
        f"product {product:.1f}; promised: time at most as the sum"
    )


if __name__ == "__main__":
    main()
