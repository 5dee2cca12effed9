"""Sweeps: one notebook, thousands of points, one table.

=============  ========================================================================
file           what it holds
=============  ========================================================================
`rows`         `record`, which a notebook hands its rows over with
`parameters`   the parameters cell; a value converted exactly, or refused
`points`       the points: from a grid, ranges, a list or a CSV file
`notebook`     a notebook that can be swept, and the keys of its code and points
`store`        the folder of a sweep: results whole or not at all; the lock
`kernel`       one notebook in one kernel, by papermill
`worker`       one point on a worker: run, checked, stored
`engine`       the points on Dask's workers
`report`       the table, the states, what is printed
`driver`       `sweep`: from the points to the table
=============  ========================================================================

A notebook needs `record` and no more: the rest is not imported here, so that the key
of a notebook does not change with the driver.
"""

from dplib.sweep.rows import MIME_TYPE, record, row

__all__ = ["MIME_TYPE", "record", "row"]
