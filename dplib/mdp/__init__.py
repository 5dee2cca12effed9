"""Markov decision processes, of one agent or of a team whose agents move independently.

Problem
    `dplib.mdp.model`: `MDP` and its base `Model`; one `backup`.
    `dplib.mdp.factored`: `FactoredMDP` of a team; `dense`, its joint transitions;
    `backup_operations` and `dense_operations` count products.
    `dplib.mdp.gridworld`: `gridworld` of one agent, with `ACTIONS` and `SLIP_LAWS`.
    `dplib.mdp.two_state`: `two_state`, the smallest example.
    `dplib.mdp.tabular`: `from_tabular` takes a reader's own, in Gymnasium's form.
Solver
    `dplib.mdp.batch`: `solve_many`, the solver, with certified `Solutions` of many
    rewards; `evaluate_many`.
    `dplib.mdp.solve`: `solve` and `value_iteration` of one reward, its `Solution`.
    `dplib.mdp.policy_iteration`: `policy_iteration`, by exact evaluation.
    `dplib.mdp.evaluate`: `evaluate`, the exact values of a policy.
    `dplib.mdp.kernel`: the compiled loops.

Rewards are arrays beside the model: privacy changes rewards, and never the dynamics.
"""
