"""Private communication in a team that plans together.

The room of Chen et al., *Differential Privacy in Cooperative Multiagent Planning*.
A planner hands a local policy to every agent. At run time each tells the others a
private version of its state, by the mechanism of `dplib.privacy.word`.

- `team`: `Team`, a reach-avoid problem (Section 2.1) and who depends on whom
  (Assumption 2). `paper`: `NAVIGATION` (Section 7.1), `sysadmin` (7.2), `WEIGHTS`.
- `synthesis`: policies that depend little on each other (Section 6): `convex_concave`
  from `first_occupancy`, with `Weights`; the baseline's `linear_program`.
- `soft`: `solve_soft`, the problem that each iteration solves.
- `correlation`: total correlation, as the paper's `proxy` (Section 6).
- `policies`: `marginalise`, local policies of a joint one; `complete`, others for what
  never occurs.
- `execution`: Algorithm 2: `success_chance` and `chance`, exactly; `rollouts`.
"""
