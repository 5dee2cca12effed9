"""What the tests of learning agents share."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(scope="module")
def quick_compilation() -> Iterator[None]:
    """Compile in a third of the time: here programs are compiled, hardly run."""
    option = "jax_disable_most_optimizations"
    jax.config.update(option, True)
    yield
    jax.config.update(option, False)
