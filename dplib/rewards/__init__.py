"""Private reward functions for multi-agent Markov decision processes.

The room of Benvenuti, Hawkins, Fallin, Chen, Bialy, Dennis and Hale, *Differentially
Private Reward Functions in Policy Synthesis for Markov Decision Processes*. Agents are
numbered from 0 here and from 1 in the paper.

`dplib.rewards.paper`
    The paper's instances, each an `Example`: Example 1, `example_one`; Example 2,
    `example_two`; of Example 3 the `paper_grid` and the `Scenario`.
`dplib.rewards.tables`
    Reward tables and the map J: `joint_reward`, `averaging_matrix`, `appearances`.
`dplib.rewards.mechanism`
    Algorithm 1 (Theorem 1), Algorithm 2 (Theorem 2), and better ones, as a `Mechanism`:
    `input_noise`, `paper_output`, `balanced_output`, all by name in `mechanisms`;
    `standard_draw` makes the normals that their noise shares.
`dplib.rewards.central`
    How private the joint reward is: `central_shift`, `matched`, `equally_private`.
`dplib.rewards.accuracy`
    Theorem 3 and Corollary 1: `accuracy_factor`, `epsilon_for_accuracy`; sharper are
    `log_bound` and `independent_maximum`.
`dplib.rewards.survival`
    What Theorem 5 bounds, exactly: `survival`, `gap_for_survival`.
`dplib.rewards.iterations`
    Theorem 4, `sweeps`; Theorem 6, `excess_bound`, and the exact `expected_sweeps`.
`dplib.rewards.cost`
    Sections 5 and 8: `arms` to compare, `optimum`, `costs_of_privacy`.
`dplib.rewards.waypoints`, `dplib.rewards.flight`, `dplib.rewards.adversary`
    Example 3: `private_routes` between waypoints, `fly` along them, `watch` and
    `detect` as its adversary does.
`dplib.rewards.files`
    Rewards of your own: `read_rewards`.

On pages: Lemma 1, Lemma 2, Table 1 (01_mechanisms); the bound of Theorem 5 (03_design);
Proposition 1 (04_iterations).
"""
