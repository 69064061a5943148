"""How sure a number makes an attacker that a person is in the data, by noise: picked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.report.disclosure import Lines
from understudy.report.numbers import number


def membership(found: Sequence[Mapping[str, Any]]) -> tuple[Lines, ...]:
    """ECAP by deviation of the noise for every column (Chapelle & Falissard, Figure 5)."""
    return tuple(_by_noise(place, column) for place, column in enumerate(found))


def _by_noise(place: int, column: Mapping[str, Any]) -> Lines:
    sigmas = column["sigmas"]
    curves = [("Synthetic", column["curve"]), ("Thinned", column["median"])]
    points = [
        {"x": x, "y": y, "table": group, "line": line}
        for line, (group, curve) in enumerate(curves)
        for x, y in zip(sigmas, curve, strict=True)
    ]
    # The noise that was chosen stands as a line of its own.
    points += [
        {"x": column["sigma"], "y": y, "table": "Held out", "line": len(curves)} for y in (0.0, 1.0)
    ]
    sizes = column["sizes"]
    others = [one for one in sizes if one["size"] != column["size"]]
    return Lines(
        f"ecap-{place}",
        str(column["column"]),
        "standard deviation of the noise",
        "ECAP",
        points,
        [{"x": x, "y": column["bound"]} for x in (sigmas[0], sigmas[-1])],
        False,
        _said(column),
        ("Noise", "Largest", "Middle", *(f"Largest, N = {one['size']:,}" for one in others)),
        tuple(
            (
                number(sigma),
                number(column["curve"][i]),
                number(column["median"][i]),
                *(number(one["curve"][i]) for one in others),
            )
            for i, sigma in enumerate(sigmas)
        ),
    )


def _said(column: Mapping[str, Any]) -> str:
    size, sample = f"{column['size']:,}", f"{column['sample']:,}"
    parts = [f"{sample} of {size} people are in the sample."]
    ends = [("below", column["bottom"]), ("above", column["top"])]
    coded = [f"{side} {number(end)}" for side, end in ends if end is not None]
    if coded:
        parts.append(f"Numbers {' and '.join(coded)} are set to that.")
    if not column["covered"]:
        parts.append("No noise was added.")
    elif column["sigma"] == 0:
        parts.append("No noise is needed for the bound.")
    else:
        parts.append(f"The noise has a standard deviation of {number(column['sigma'])}.")
    if column["elbow"] > 0:
        parts.append(f"The largest ECAP has its elbow at {number(column['elbow'])}.")
    parts.append(_claims(column["claims"]))
    return " ".join(parts)


def _claims(claims: Mapping[str, Any]) -> str:
    """F1 as it is usually given, beside what guessing gives."""
    got = claims.get("counted") or claims["balanced"]
    whose = "gets" if "counted" in claims else "would get"
    return (
        f"Asked about as many members as others, this attacker {whose} an F1 of "
        f"{number(got['f1'])}; claiming everybody gives {number(got['naive'])}."
    )
