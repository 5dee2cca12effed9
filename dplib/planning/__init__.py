"""Private communication in a team that plans together.

The room of Chen et al., *Differential Privacy in Cooperative Multiagent Planning*.
A planner hands a local policy to every agent. At run time each tells the others a
private version of its state, by the mechanism of `dplib.privacy.word` (Algorithm 1,
Theorem 1).

- `game`: `MarkovGame`, a reach-avoid problem (Section 2.1) and who depends on whom
  (Assumption 2). `grid`: `grid_team`, from a map in letters; `files`: `read_mission`,
  from a YAML file.
- `paper`: `NAVIGATION` (Section 7.1), `sysadmin` (7.2), `WEIGHTS`. `printed`: the
  values that the figures show.
- `synthesis`: policies that depend little on each other (Section 6): `convex_concave`
  from `first_occupancy`, with `Weights`; the baseline's `linear_program`; `induced`,
  the occupancy measure of local policies.
- `soft`: `solve_soft`, the problem that each iteration solves.
- `correlation`: total correlation, as the paper's `proxy` (Section 6).
- `policies`: `marginalise`, local policies of a joint one; `complete`, others for what
  never occurs.
- `execution`: Algorithm 2: `success_chance` and `chance`, exactly; `rollouts`:
  sampled episodes.

On pages: Algorithm 1 in fractions (01_word), the bound of Theorem 2 (03_tradeoff), soft
value iteration (04_synthesis), the gradient of private success (07_robust).
"""
