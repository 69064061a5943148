"""What the report draws of the ECAP: curves by noise, and an attacker's claims. Never rows."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from understudy.kernels.ecap import Spots, chances
from understudy.kernels.ecap_sigma import Scene, curve
from understudy.kernels.laws import Floats, Normal
from understudy.kernels.membership import Claims, claimed, counted_claims, expected_claims
from understudy.kernels.population import Grid, Population
from understudy.membership import Cover

_POINTS = 41
_SIZES = (0.1, 1.0, 10.0)
_SPREADS = (0.5, 1.0, 2.0)


def curves(
    cover: Cover, values: Floats, held: Floats, released: Floats, most: float
) -> dict[str, Any]:
    """Everything about one column.

    Args:
        cover: its noise.
        values: train's numbers.
        held: the holdout's.
        released: the release's.
        most: how far the curve goes where there is no noise.
    """
    sigmas = np.linspace(0.0, 4 * cover.sigma or most, _POINTS)
    found = curve(cover.scene, values, sigmas)
    people, risk = cover.scene.people, cover.risk(values)
    return {
        "column": cover.name,
        "bound": cover.bound,
        "limit": _short(cover.scene.limit),
        "size": people.size,
        "sample": cover.scene.sample,
        "sigma": _short(cover.sigma),
        "discrete": bool(cover.step),
        "bottom": _finite(cover.bottom),
        "top": _finite(cover.top),
        "worst": _short(float(risk.max())),
        "above": _short(float((risk > cover.bound).mean())),
        "elbow": _short(found.elbow),
        "sigmas": _list(sigmas),
        "curve": _list(found.worst),
        "median": _list(found.median),
        "sizes": _by_size(cover.scene, values, sigmas),
        "spreads": _by_spread(cover.scene, values, sigmas),
        "claims": _claims(cover, values, held, released),
    }


def _by_size(scene: Scene, values: Floats, sigmas: Floats) -> list[dict[str, Any]]:
    """The same for smaller and larger populations (Figure 6); a table of counts has its own."""
    people = scene.people
    if isinstance(people, Grid) and people.counted:
        return []
    sizes = [round(people.size * factor) for factor in _SIZES]
    return [
        {"size": size, "curve": _list(curve(_other(scene, size=size), values, sigmas).worst)}
        for size in sizes
        if size > scene.sample
    ]


def _by_spread(scene: Scene, values: Floats, sigmas: Floats) -> list[dict[str, Any]]:
    """The same for normal populations that vary less or more (Figure 7)."""
    people = scene.people
    if not isinstance(people, Population) or not isinstance(people.law, Normal):
        return []
    spreads = [people.law.sd * factor for factor in _SPREADS]
    return [
        {
            "sd": _short(sd),
            "curve": _list(
                curve(_other(scene, law=Normal(people.law.mean, sd)), values, sigmas).worst
            ),
        }
        for sd in spreads
    ]


def _other(scene: Scene, **changes: Any) -> Scene:
    return replace(scene, people=replace(scene.people, **changes))


def _claims(cover: Cover, values: Floats, held: Floats, released: Floats) -> dict[str, Any]:
    """Claims of membership: as many members as others, what came and what was to be expected.

    The last entry is what the ECAP is about: of all people, few were sampled.
    """
    scene = cover.scene
    found = chances(scene.people, values, cover.sigma, discrete=scene.discrete)
    base = scene.sample / scene.people.size
    result = {
        "balanced": _told(expected_claims(found, scene.sample, 0.5)),
        "population": _told(expected_claims(found, scene.sample, base)),
    }
    if held.size and released.size:
        seen = cover.stretched(released)
        members, others = (_seen(cover, group, seen) for group in (values, held))
        result["counted"] = _told(counted_claims(members, others))
    return result


def _seen(cover: Cover, values: Floats, seen: Floats) -> Any:
    people = cover.scene.people
    if isinstance(people, Grid):
        half = np.full(len(values), people.step / 2)
        return claimed(np.clip(values, people.bottom, people.top), half, half, seen)
    spots = Spots.of(people, values)
    return claimed(spots.values, spots.left, spots.right, seen)


def _told(claims: Claims) -> dict[str, float]:
    return {name: _short(value) for name, value in asdict(claims).items()}


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _finite(value: float) -> float | None:
    return _short(value) if math.isfinite(value) else None


def _list(values: Floats) -> list[float]:
    return [_short(float(value)) for value in values]
