"""Shares of attacks that succeed: intervals, differences, and the risk that is left."""

from __future__ import annotations

import math

from understudy.kernels.resample import z_of


def wilson(successes: float, attacks: float, level: float = 0.95) -> tuple[float, float]:
    """Centre and half width of Wilson's interval of a share.

    With p = s/n:  (p + z²/2n) / (1 + z²/n)  ±  z·√(p(1 − p)/n + z²/4n²) / (1 + z²/n)

    Source: Wilson (1927), Journal of the American Statistical Association 22:209.

    Example:
        >>> centre, half = wilson(850, 1000)
        >>> round(centre, 3), round(half, 3)
        (0.849, 0.022)
    """
    if attacks <= 0:
        return math.nan, math.nan
    z, share = z_of(level), successes / attacks
    whole = 1 + z * z / attacks
    half = z * math.sqrt(share * (1 - share) / attacks + (z / (2 * attacks)) ** 2) / whole
    return (share + z * z / (2 * attacks)) / whole, half


def wilson_ends(successes: float, attacks: float, level: float = 0.95) -> tuple[float, float]:
    """Both ends of Wilson's interval, exact where nothing or everything succeeded.

    Example:
        >>> [round(end, 4) for end in wilson_ends(0, 100)]
        [0.0, 0.037]
    """
    centre, half = wilson(successes, attacks, level)
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == attacks else centre + half
    return low, high


def difference(
    first: tuple[float, float], second: tuple[float, float], level: float = 0.95
) -> tuple[float, float]:
    """Interval of the difference of two shares, each given as successes and attacks.

    With Wilson's ends (l, u) of each:  d − √((p₁ − l₁)² + (u₂ − p₂)²)  to
    d + √((u₁ − p₁)² + (p₂ − l₂)²).

    Source: Newcombe (1998), Statistics in Medicine 17:873, method 10.

    Example:
        >>> [round(end, 4) for end in difference((56, 70), (48, 80))]
        [0.0524, 0.3339]
    """
    (p, q) = (one[0] / one[1] for one in (first, second))
    (low, high), (below, above) = (wilson_ends(*one, level) for one in (first, second))
    down, up = math.hypot(p - low, above - q), math.hypot(high - p, q - below)
    return p - q - down, p - q + up


def residual(attack: tuple[float, float], control: tuple[float, float]) -> tuple[float, float]:
    """Risk that is left when the control's success is taken out; each a share and its error.

    R = (a − c) / (1 − c), with the error of a first-order expansion:
    √((da / (1 − c))² + ((1 − a)·dc / (1 − c)²)²). Not a number where the control never fails.

    Source: Giomi, Boenisch, Wehmeyer & Tasnádi (2023), Proceedings on Privacy Enhancing
    Technologies 2023(2):312, for the ratio.

    Example:
        >>> [round(number, 3) for number in residual((0.90, 0.02), (0.85, 0.02))]
        [0.333, 0.16]
    """
    (a, da), (c, dc) = attack, control
    room = 1 - c
    if not room > 0:
        return math.nan, math.nan
    return (a - c) / room, math.hypot(da / room, (1 - a) * dc / room**2)
