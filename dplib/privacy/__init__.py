"""Mechanisms of differential privacy, and what they promise. No agents here.

`dplib.privacy.adjacency`
    `Adjacency`: which data count as neighbours, and whose privacy that makes it.
`dplib.privacy.divergence`
    Between two distributions in log space: `privacy_loss`, `max_divergence`,
    `hockey_stick` and `log_hockey_stick`; `smooth` makes no outcome impossible.
`dplib.privacy.laplace`
    `laplace_scale` and back, `laplace_epsilon`; the exact curve `laplace_delta`.
`dplib.privacy.laplace_sum`
    `laplace_sum_survival` of a weighted sum of Laplace variables.
`dplib.privacy.gaussian`
    Calibrations `kappa_sigma` (and its `kappa`), `analytic_sigma`, `classic_sigma`;
    the exact curve `gaussian_delta`, `gaussian_log_delta`, and its inverse
    `gaussian_epsilon`; `group_sensitivity` of several entries or releases.
`dplib.privacy.sampling`
    What secret sampling before a mechanism is worth: `sampled_epsilon`, and exactly for
    Gaussian noise `sampled_gaussian_epsilon`, `sampled_gaussian_log_delta`.
`dplib.privacy.composition`
    `Release`, a statement of privacy as a value, and `basic_composition`.
`dplib.privacy.trajectory`
    `LaplaceChannel` and `laplace_budget`: noisy messages at every step under one
    budget for the whole trajectory.
`dplib.privacy.word`
    `online_mechanism`: a private word beside the true one, state by state;
    `word_distribution` and `word_loss`, what it gives away.

A pair (epsilon, delta) is a statement only together with an adjacency, so whatever
states a guarantee asks for one. All mechanisms are idealised: they are analysed in
real arithmetic, and run in floating point, where noise leaves traces in its low-order
bits (Mironov, "On significance of the least significant bits for differential
privacy", 2012).
"""
