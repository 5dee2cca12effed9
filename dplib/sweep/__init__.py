"""Sweeps: one notebook, thousands of points, one table.

A notebook hands its row over with `record`, and needs no more than that. What runs
the points, `dplib.sweep.driver` (``python -m dplib.sweep``), is not imported here,
so that the key of a notebook does not change with the driver.
"""

from dplib.sweep.rows import MIME_TYPE, record, row

__all__ = ["MIME_TYPE", "record", "row"]
