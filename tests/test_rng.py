"""Streams depend on seed and key, and on nothing else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.rng import stream

PARTS = st.one_of(st.integers(0, 2**64 - 1), st.text(max_size=8))
KEYS = st.lists(PARTS, max_size=4).map(tuple)
quick = settings(max_examples=100, deadline=None, derandomize=True, database=None)


def first(seed: int, *key: str | int) -> int:
    return int(stream(seed, *key).integers(2**63))


def test_the_streams_never_change() -> None:
    # Stored results of the book hang on these numbers.
    assert stream(0).integers(10**9, size=2).tolist() == [850624225, 636961687]
    assert stream(2026, "pair", 1).integers(1000, size=3).tolist() == [805, 443, 179]


@quick
@given(st.integers(0, 2**128 - 1), KEYS, KEYS)
def test_different_keys_give_different_streams(seed, one, other) -> None:
    assert (first(seed, *one) == first(seed, *other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((), (0,)),
        ((0,), (0, 0)),
        (("1",), (1,)),
        (("ab",), ("a", "b")),
        (("",), ()),
        ((1, 2), (2, 1)),
        ((2**32,), (0, 1)),
        ((2**32 + 5,), (5,)),
    ],
)
def test_keys_that_look_alike(one, other) -> None:
    assert first(7, *one) != first(7, *other)


def test_a_long_seed_cannot_spell_out_a_shorter_one_and_its_key() -> None:
    # stream(short, 7) and stream(long) were the same: numpy appends the key's
    # words (0, 0, 7) to the seed's.
    short = sum(word << (32 * i) for i, word in enumerate([11, 22, 33, 44]))
    long = short | (7 << (32 * 6))
    assert stream(short, 7).random() == stream(short, 7).random()
    with pytest.raises(ValueError, match="The 'seed' parameter of stream"):
        stream(long)


def test_workers_do_not_share_a_state() -> None:
    serial = [first(1, "worker", i) for i in range(8)]
    with ThreadPoolExecutor(max_workers=4) as pool:
        parallel = list(pool.map(lambda i: first(1, "worker", i), reversed(range(8))))
    assert len(set(serial)) == 8
    assert serial == parallel[::-1]


def test_streams_are_uncorrelated() -> None:
    draws = np.array([stream(3, i).standard_normal(2000) for i in range(20)])
    correlation = np.corrcoef(draws)[np.triu_indices(20, 1)]
    assert np.max(np.abs(correlation)) < 6 / np.sqrt(2000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1,), "The 'seed' parameter of stream"),
        ((1.0,), "The 'seed' parameter of stream"),
        ((0, -1), "The 'key' parameter of stream"),
        ((0, 2**64), "The 'key' parameter of stream"),
        ((0, 1.5), "The 'key' parameter of stream"),
    ],
)
def test_what_is_no_seed_and_no_key(arguments, message) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        stream(*arguments)


def test_a_key_with_a_lone_surrogate() -> None:
    # Such text, which a file name may hold, raised a raw UnicodeEncodeError.
    assert stream(1, "\ud800").random() != stream(1, "\ud801").random()
