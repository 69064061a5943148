"""Noise that is drawn once per value: the same value gets the same noise, whatever row it is in."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]
_REACH = 9.0  # standard deviations at which the laws are cut off: beyond lies less than 1e-18
_BITS = 2.0**53


def cell_masses(sigma: float, *, discrete: bool) -> Floats:
    """Probabilities of moving by −K … K steps of a grid, by noise of ``sigma`` steps.

    The discrete Gaussian has P(k) ∝ exp(−k²/(2σ²)) (Canonne, Kamath & Steinke 2020); a normal
    moves a value into the cell k with probability Φ((k+½)/σ) − Φ((k−½)/σ).

    Example:
        >>> cell_masses(1.0, discrete=True)[8:11].round(4).tolist()
        [0.242, 0.3989, 0.242]
        >>> cell_masses(0.1, discrete=False).round(4).tolist()
        [0.0, 1.0, 0.0]
    """
    if sigma == 0:
        return np.ones(1)
    steps = np.arange(-int(np.ceil(_REACH * sigma)), int(np.ceil(_REACH * sigma)) + 1)
    if discrete:
        with np.errstate(under="ignore"):
            weight = np.exp(-np.square(steps / sigma) / 2)
    else:
        # By the smaller tail on each side, so that far cells keep their digits.
        far = np.abs(steps)
        weight = ndtr((0.5 - far) / sigma) - ndtr((-0.5 - far) / sigma)
    return np.asarray(weight / weight.sum(), dtype=np.float64)


def uniforms(values: Floats, key: bytes, name: str) -> Floats:
    """A uniform number for each value: equal values get equal ones, and only the key tells which.

    A keyed hash (BLAKE2b) of the value's bits: whoever knows the noise of one value learns nothing
    of another's. Cost: about a microsecond for each distinct value.

    Example:
        >>> one, other, same = uniforms(np.array([1.0, 2.0, 1.0]), b"key", "age")
        >>> bool(one == same), bool(one == other)
        (True, False)
    """
    distinct, place = np.unique(values + 0.0, return_inverse=True)  # −0 is 0
    person = hashlib.sha256(name.encode()).digest()[:16]
    digests = b"".join(
        hashlib.blake2b(bits.tobytes(), digest_size=8, key=key, person=person).digest()
        for bits in distinct
    )
    whole = np.frombuffer(digests, dtype="<u8") >> np.uint64(11)
    return np.asarray(((whole + 0.5) / _BITS)[place], dtype=np.float64)


def normal(shares: Floats, sigma: float) -> Floats:
    """Normal noise from uniform numbers, by the inverse of its distribution function."""
    return np.asarray(sigma * ndtri(shares), dtype=np.float64)


def discrete_gaussian(shares: Floats, sigma: float) -> Floats:
    """Discrete Gaussian noise in steps of a grid, from uniform numbers.

    Example:
        >>> discrete_gaussian(np.array([0.01, 0.5, 0.99]), 1.0).tolist()
        [-2.0, 0.0, 2.0]
    """
    masses = cell_masses(sigma, discrete=True)
    steps = np.searchsorted(np.cumsum(masses), shares, side="left") - len(masses) // 2
    return np.asarray(np.minimum(steps, len(masses) // 2), dtype=np.float64)


def mirrored(values: Floats, low: float, high: float) -> Floats:
    """Values beyond the ends are mirrored back at them; what is still beyond is set to the end.

    Example:
        >>> mirrored(np.array([-0.2, 5.0, 10.5]), 0.0, 10.0).tolist()
        [0.2, 5.0, 9.5]
    """
    back = np.where(values < low, 2 * low - values, values)
    back = np.where(back > high, 2 * high - back, back)
    return np.asarray(np.clip(back, low, high), dtype=np.float64)
