"""Private messages between agents that learn together.

The room of Zhao et al., *DPMAC: Differentially Private Communication for Cooperative
Multi-Agent Reinforcement Learning*. Agents see a part of the world, act, and tell each
other something about it through Gaussian noise.

- `account`: what the noise is worth: the `theorem_sigma` of Theorem 5.1, its
  `condition` and the `largest_rate` at which that can hold; the exact
  `message_epsilon`; `capacity`, the bits of a message.
- `paper`: the settings of Section 7, and those of the authors' published code: `TASKS`,
  `noise_sigma`.
- `worlds`: the particle worlds of Section 7, `CN`, `CCN` and `PP`, as pure functions;
  `parallel`: `ParticleEnv`, the same behind PettingZoo's interface.
- `agents`: a `Team` in a world (Figure 1), and how it talks: DPMAC, TarMAC, I2C, or not
  at all; `episode` plays it. `keys`: jax's random keys from the book's streams.
- `training`: `train` through the simulator, a `Curve`. `replay`: `train` by a replayed
  actor-critic, as the paper does (Section 5.2).

`account` and `paper` need numpy and scipy; the other files need jax.

On pages: Proposition 4.1 in fractions (01_bits), the best sender of Section 5.1 in
closed form (03_sender), Theorem 6.1 and Theorem 6.2 (06_games).
"""
