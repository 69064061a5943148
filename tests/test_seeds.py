"""Randomness addressed by name."""

import numpy as np
import pytest

from understudy.seeds import SECRET_BITS, fresh_seed, is_short, stream

PATHS = [
    (), ("a",), ("a", "b"), ("b", "a"), ("ab",), (1,), ("1",), ("a", 1), ("a", "1"), ("a", 11),
    ("a", 1, 1), ("a/str:b",), ("a/b",), ("a/", "b"), ("a", "/b"), ("a\\", "b"), ("a\\/b",), ("é",),
]  # fmt: skip


def first(seed, *path):
    return int(stream(seed, *path).integers(2**63))


def test_every_path_and_every_seed_has_a_stream_of_its_own():
    draws = [first(seed, *path) for seed in (0, 1, 2**127) for path in PATHS]
    assert len(set(draws)) == len(draws)


def test_a_stream_does_not_depend_on_what_was_drawn_before():
    alone = {path: first(7, *path) for path in PATHS}
    stream(7, "a").random(1_000)
    np.random.default_rng(7).random(5)
    assert {path: first(7, *path) for path in reversed(PATHS)} == alone


def test_numpy_integers_are_integers():
    assert first(7, "sample", np.int64(3)) == first(7, "sample", 3)
    assert first(7, np.str_("a")) == first(7, "a")


def test_a_float_is_no_name():
    with pytest.raises(TypeError):
        stream(7, 1.5)


def test_streams_stay_the_same_from_version_to_version():
    """SHA-256 of "7|str:sample/int:1", first half, little endian, seeds PCG64."""
    assert first(7, "sample", 1) == first_by_hand(b"7|str:sample/int:1")


def first_by_hand(name):
    import hashlib

    seed = int.from_bytes(hashlib.sha256(name).digest()[:16], "little")
    return int(np.random.Generator(np.random.PCG64(seed)).integers(2**63))


def test_streams_are_uncorrelated():
    """4,000 neighbouring streams, one draw each: mean ½, SD of the mean 0.0046; 5 SDs."""
    draws = np.array([stream(1, "sample", k).random() for k in range(4_000)])
    assert abs(draws.mean() - 0.5) < 5 * np.sqrt(1 / 12 / 4_000)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 5 / np.sqrt(4_000)


def test_short_seeds_can_be_guessed():
    assert is_short(0) and is_short(2024) and is_short(2**64 - 1)
    assert not is_short(2**64)


def test_fresh_seeds_are_long_and_differ():
    seeds = [fresh_seed() for _ in range(50)]
    # A secret of 128 bits is below 2^64 with probability 2^-64.
    assert not any(map(is_short, seeds))
    assert len(set(seeds)) == 50 and max(seeds) < 2**SECRET_BITS
