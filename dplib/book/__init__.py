"""The machinery of the book; pages use it, the floors never do.

For notebooks
    `claims`: `open_notebook`, its six checks and closing table, `printed`;
    `replicates`: `Interval`, `mean_interval`, `share_interval`, `quantile_interval`;
    `rounding`: `shown`, `rounded`; `figures`: `use_style`, `show`;
    `explorer`: `show`, a slider over a table;
    `stored`: `load` and `confirm` a stored result.
Behind them
    `ledger`: the claims of a chapter, and what each verdict needs; `verdicts`: how a
    verdict is shown. `notebooks`: pairs, their execution and keys; `outputs`: when two
    outputs are the same; `kernels`: what every kernel finds around it; `code_key`:
    which library code a page reaches. `stored_work`: long runs; `stored_change`: a long
    run for other parameters, and its page; `own_results`: where a page finds it;
    `whole_files`: files that are whole or absent.
"""
