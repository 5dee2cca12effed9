"""The curve of `dplib.privacy.laplace` under its former name."""

from dplib.privacy.laplace import laplace_delta

__all__ = ["laplace_delta"]
