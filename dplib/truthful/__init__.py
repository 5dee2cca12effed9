"""Approximately truthful multi-agent optimization with a trusted cloud.

The room of Hale & Egerstedt, arXiv 1509.08161. Agents are numbered from 0 here
and from 1 in the paper: agent 6 of the paper is index 5.

- `problem`: `Problem` 0 of Section II, its costs, constraints and derivatives;
  `pairwise_constraint`. `files`: `read_team`, a problem from a reader's YAML file.
- `paper`: the instance and the run of Section VI, `hale_egerstedt` and
  `experiment_plan`, its `optimum`, the `errors` of a run.
- `constants`: Lipschitz constants, `influence`, and the `multiplier_radius` of Lemma 1.
- `saddle`: the `saddle_point` of Equation 1 with a proven error bound,
  `find_slater_point` of Assumption 2; `kkt`: Newton's method (`polish`) and the
  proof (`certify`).
- `algorithm`: Algorithm 2, and without noise Algorithm 1, as a `Plan` to `simulate`,
  with the `StepSizes` of Theorem 1; `reports`: who lies in it, `Lie` and `Pretence`;
  `kernel`: the compiled loop.
- `noise`: Lemma 5 and Lemma 6, `calibrated` scales; Table I, `table_one`.
  `joint_privacy`: Theorem 2, composed, `joint_epsilons`. `released`: what the messages
  alone give away, `agent_lower_bounds`. `allocation`: noise that keeps the promise,
  `uniform_repair` and `optimal_allocation`.
- `lies`: where a `constant_lie` leads. `lie_search`: the `best_constant_lie`, and the
  `objective_range` that bounds every gain.

On pages: Algorithm 1 as printed (01_problem); Lemma 2, Lemma 3, Lemma 4 (02_noise);
Lemma 7, Lemma 8, Theorem 3 (06_deterrence).
"""
