"""What stops a sweep as a whole, in one sentence."""

from __future__ import annotations

__all__ = ["KernelLostError", "RefusedError", "SweepError"]


class SweepError(RuntimeError):
    """A sweep cannot start, or cannot go on; what is finished stays finished."""


class RefusedError(SweepError):
    """What is asked for cannot be: nothing was started."""


class KernelLostError(RuntimeError):
    """A kernel did not start, or died: worth another try, unlike a failed cell."""
