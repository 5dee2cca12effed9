"""The paired simulation against what a reader would write instead.

Prints steps of a pair of runs (truthful, and with the paper's lie, on the same noise)
per CPU second, on one core:

- *plain Python loop*: over agents, as the paper's Algorithm 2 reads; one seed;
- *plain numpy*: vectorised over 300 seeds at once, as one would first write it, with
  ``Generator.laplace`` and ``einsum``;
- *hand-tuned numpy*: the same with the draws of dplib, matrix products, work in place;
- *dplib*: the compiled loop of the library; one seed.

A factor is promised against the first two. The third has none: it is there to show
what is left of the factor against somebody who tunes numpy for this one problem.

All are first held against each other without noise. Then the largest resident
memory of a fresh process that runs few steps, and of one that runs ten times as many.
It writes no file.

    python benchmarks/paired_simulation.py
"""

import json
import subprocess
import sys
import time

import numpy as np

from dplib.rng import stream
from dplib.truthful.algorithm import Plan, simulate
from dplib.truthful.kernel import project_multipliers
from dplib.truthful.noise import table_one
from dplib.truthful.paper import hale_egerstedt
from dplib.truthful.reports import Lie

RADIUS = 416.5 / 3
LIAR, TOLD = 5, np.array([10.0, 10.0])
PAIRS = {0: [(0, 1), (0, 2)], 1: [(3, 4), (3, 5)], 2: [(6, 7), (6, 5)]}
PAIRS[3] = [(4, 2), (4, 6)]
LIMITS = np.array([5.0, 3.0, 3.0, 5.0])
TARGETS = hale_egerstedt().targets.reshape(8, 2)

# What was promised: at least so many times faster.
PLAIN, VECTORISED, GROWTH = 150.0, 3.0, 1.05


def plain(steps, scales, rng):
    """Algorithm 2 agent by agent; states and multipliers of both runs."""
    x, mu = np.zeros((2, 8, 2)), np.zeros((2, 4))
    for k in range(1, steps + 1):
        gamma, alpha = 0.01 * k**-0.6, 0.5 * k ** (-1 / 3)
        w_g = rng.laplace(size=4) * scales.b_g
        w = [rng.laplace(size=(4, 2)) * scales.b[i] for i in range(8)]
        for r in range(2):
            told = x[r].copy()
            if r == 1:
                told[LIAR] = TOLD
            g = -LIMITS
            g_x = np.zeros((8, 4, 2))
            for j, pairs in PAIRS.items():
                for i, other in pairs:
                    gap = told[i] - told[other]
                    g[j] += gap @ gap
                    g_x[i, j] += 2 * gap
                    g_x[other, j] -= 2 * gap
            new = np.empty((8, 2))
            for i in range(8):
                q = (g_x[i] + w[i]).T @ mu[r]
                step = x[r, i] - TARGETS[i] + q + alpha * x[r, i]
                new[i] = np.clip(x[r, i] - gamma * step, -10, 10)
            up = mu[r] + gamma * (g + w_g - alpha * mu[r])
            x[r], mu[r] = new, project_multipliers(up, RADIUS)
    return x.reshape(2, 16), mu


def project_all(v, radius):
    """Project the last axis of v onto M."""
    positive = np.maximum(v, 0.0)
    for at in zip(*np.nonzero(positive.sum(axis=-1) > radius), strict=True):
        positive[at] = project_multipliers(v[at], radius)
    return positive


def vectorised(steps, scales, rng, seeds):
    """Algorithm 2 for many seeds at once; leading axes are run and seed."""
    problem = hale_egerstedt()
    per_entry = np.repeat(scales.b, 2)
    x, mu = np.zeros((2, seeds, 16)), np.zeros((2, seeds, 4))
    for k in range(1, steps + 1):
        gamma, alpha = 0.01 * k**-0.6, 0.5 * k ** (-1 / 3)
        w_g = rng.laplace(size=(seeds, 4)) * scales.b_g
        w = rng.laplace(size=(seeds, 4, 16)) * per_entry
        told = x.copy()
        told[1, :, 2 * LIAR : 2 * LIAR + 2] = TOLD
        g_x = np.einsum("jcd,rsd->rsjc", problem.Q, told)
        g = 0.5 * np.einsum("rsjc,rsc->rsj", g_x, told) - LIMITS + w_g
        q = np.einsum("rsj,rsjc->rsc", mu, g_x + w)
        x = np.clip(x - gamma * (x - problem.targets + q + alpha * x), -10, 10)
        mu = project_all(mu + gamma * (g - alpha * mu), RADIUS)
    return x, mu


def tuned(steps, scales, rng, seeds):
    """Do the same, with the draws of dplib, matrix products, and in place."""
    problem = hale_egerstedt()
    flat = problem.Q.reshape(64, 16).T.copy()
    per_entry = np.tile(np.repeat(scales.b, 2), 4)
    targets = problem.targets
    x, mu = np.zeros((2, seeds, 16)), np.zeros((2, seeds, 4))
    for k in range(1, steps + 1):
        gamma, alpha = 0.01 * k**-0.6, 0.5 * k ** (-1 / 3)
        noise = rng.standard_exponential((seeds, 68))
        noise *= 1 - 2 * rng.integers(0, 2, size=noise.shape, dtype=np.int8)
        noise[:, :4] *= scales.b_g
        noise[:, 4:] *= per_entry
        told = x.copy()
        told[1, :, 2 * LIAR : 2 * LIAR + 2] = TOLD
        rows = (told @ flat).reshape(2, seeds, 4, 16)
        g = 0.5 * (rows @ told[..., None])[..., 0] - LIMITS + noise[:, :4]
        rows += noise[:, 4:].reshape(seeds, 4, 16)
        q = (mu[..., None, :] @ rows)[..., 0, :]
        x = np.clip(x - gamma * (x - targets + q + alpha * x), -10, 10)
        mu = project_all(mu + gamma * (g - alpha * mu), RADIUS)
    return x, mu


def compiled(steps, scales, rng):
    """The library; states and multipliers of both runs."""
    plan = Plan(
        hale_egerstedt(),
        radius=RADIUS,
        record=[steps],
        scales=scales,
        lies=[Lie(LIAR, TOLD)],
    )
    done = simulate(plan, rng)
    return done.x[:, 0], done.mu[:, 0]


def rate(function, steps, repeats=3):
    """Return steps per CPU second, the best of some repeats."""
    best = np.inf
    for repeat in range(repeats):
        start = time.process_time()
        function(stream(1, "benchmark", repeat))
        best = min(best, time.process_time() - start)
    return steps / best


def memory(steps):
    """Return the largest resident memory of a fresh process, in MB."""
    code = (
        "import json, resource, sys; sys.path.insert(0, 'benchmarks');"
        "import paired_simulation as p;"
        f"p.compiled({steps}, p.table_one(), p.stream(1));"
        "print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout) / 1024


def main():
    """Compare, and print what was promised beside it."""
    silent = table_one().scaled(0.0)
    fast = compiled(300, silent, stream(1))
    for name, slow in (
        ("plain", plain(300, silent, stream(1))),
        ("vectorised", [a[:, 0] for a in vectorised(300, silent, stream(1), 2)]),
        ("tuned", [a[:, 0] for a in tuned(300, silent, stream(1), 2)]),
    ):
        gap = max(np.abs(a - b).max() for a, b in zip(fast, slow, strict=True))
        assert gap < 1e-9, f"{name} computes something else: {gap}"

    scales = table_one()
    rates = {
        "plain Python loop, one seed": rate(lambda rng: plain(1000, scales, rng), 1000),
        "plain numpy, 300 seeds": rate(
            lambda rng: vectorised(200, scales, rng, 300), 200 * 300
        ),
        "hand-tuned numpy, 300 seeds": rate(
            lambda rng: tuned(200, scales, rng, 300), 200 * 300
        ),
        "dplib, compiled, one seed": rate(
            lambda rng: compiled(50_000, scales, rng), 50_000
        ),
    }
    ours = rates["dplib, compiled, one seed"]
    wanted = {
        "plain Python loop, one seed": PLAIN,
        "plain numpy, 300 seeds": VECTORISED,
    }
    print("steps of a pair of runs per CPU second, all 300 seeds counted; one core")
    print(f"{'':28}{'pair-steps/s':>14}{'dplib is':>12}{'promised':>12}")
    for name, value in rates.items():
        least = wanted.get(name)
        times = "" if value is ours else f"{ours / value:.3g} x"
        promise = "" if least is None else f"{least:g} x"
        print(f"{name:28}{value:14,.0f}{times:>12}{promise:>12}")
    few, many = memory(50_000), memory(500_000)
    print(f"memory after 50,000 and 500,000 steps: {few:.0f} MB, {many:.0f} MB", end="")
    print(f"; promised: less than {GROWTH:g} times")


if __name__ == "__main__":
    main()
