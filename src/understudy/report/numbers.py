"""Numbers as the page writes them. Nothing is computed here: digits are chosen."""

from __future__ import annotations

import math

NONE = "–"


def number(value: float | None, *, share: bool = False, signed: bool = False) -> str:
    """Write a number with three digits that count, or a share in per cent.

    Example:
        >>> number(0.67604), number(0.85838, share=True), number(None), number(0.0004, share=True)
        ('0.676', '85.8%', '–', '0.04%')
    """
    if value is None or not math.isfinite(value):
        return NONE
    text = _percent(abs(value)) if share else _plain(abs(value))
    zero = not any(digit in text for digit in "123456789")
    sign = "" if zero else "−" if value < 0 else "+" if signed else ""
    return sign + text


def interval(
    low: float | None, high: float | None, *, share: bool = False, signed: bool = False
) -> str:
    """Write an interval; nothing if it has no ends.

    Example:
        >>> interval(0.1, 0.25), interval(None, 1.0)
        ('0.1 to 0.25', '')
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    ends = (number(end, share=share, signed=signed) for end in (low, high))
    return " to ".join(ends)


def measured(value: float | None, error: float | None) -> str:
    """Write a number to the second digit of its standard error, or to four digits without one.

    Example:
        >>> measured(0.998765, 0.0026), measured(-0.00031, 0.00018), measured(0.0312, None)
        ('0.9988', '−0.00031', '0.0312')
    """
    if value is None or not math.isfinite(value):
        return NONE
    if error is None or not math.isfinite(error) or error <= 0:
        text = f"{abs(value):.4g}"
    else:
        digits = min(max(0, 1 - math.floor(math.log10(error))), 9)
        text = f"{abs(value):.{digits}f}"
    return ("−" if value < 0 and any(digit in text for digit in "123456789") else "") + text


def count(value: object, one: str, many: str | None = None) -> str:
    """Write a count with its noun.

    Example:
        >>> count(1, "row"), count(6712, "row")
        ('1 row', '6,712 rows')
    """
    if not isinstance(value, int | float):
        return f"{NONE} {many or one + 's'}"
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def _percent(value: float) -> str:
    scaled = 100 * value
    digits = 1 if scaled >= 10 else 2
    return f"{scaled:.{digits}f}".rstrip("0").rstrip(".") + "%"


def _plain(value: float) -> str:
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:,.0f}"
    if value < 0.0005:
        return f"{value:.1g}" if value >= 1e-9 else "0"
    digits = max(0, 2 - math.floor(math.log10(value)))
    text = f"{value:.{min(digits, 4)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
