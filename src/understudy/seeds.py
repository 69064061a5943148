"""Randomness addressed by name.

Every random draw belongs to a stream that is derived from one seed and a path of names, so
results depend neither on the number of workers nor on what else was drawn before.
"""

from __future__ import annotations

import hashlib
import operator
import secrets

import numpy as np

SECRET_BITS = 128


def fresh_seed() -> int:
    """Draw a seed of 128 bits from the system's secrets."""
    return secrets.randbits(SECRET_BITS)


def is_short(seed: int) -> bool:
    """Tell whether a seed is short enough to be guessed by trying.

    Whoever knows the seed can repeat every draw and subtract it. Below 2^64 counts as short.
    """
    return seed < 2**64


def stream(seed: int, *path: str | int) -> np.random.Generator:
    """Return the generator that belongs to ``path`` under ``seed``.

    Example:
        >>> a = stream(7, "sample", 1, "age").integers(100)
        >>> b = stream(7, "sample", 1, "age").integers(100)
        >>> a == b
        np.True_
    """
    name = "/".join(_part(part) for part in path)
    digest = hashlib.sha256(f"{seed}|{name}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))


def _part(part: str | int) -> str:
    # 1 and "1" are two names, 1 and NumPy's 1 are one; a slash inside a name divides nothing.
    if isinstance(part, str):
        return "str:" + part.replace("\\", "\\\\").replace("/", "\\/")
    return f"int:{operator.index(part)}"


def child(seed: int, *path: str | int) -> int:
    """A seed of its own for a part of the work that opens streams itself.

    Example:
        >>> child(7, "redraw", 1) == child(7, "redraw", 1) != child(7, "redraw", 2)
        True
    """
    return int.from_bytes(stream(seed, "child", *path).bytes(16), "little")
