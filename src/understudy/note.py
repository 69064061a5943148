"""NOTE.md, the public word on a release: what it is, how it was made, how to analyse it."""

from __future__ import annotations

from understudy import __version__
from understudy.kernels.tree import PEOPLE
from understudy.protect import InferencePrevention, Noise
from understudy.results import Findings
from understudy.study import Study
from understudy.synth.panel import FittedPanel
from understudy.synth.wide import Wide
from understudy.tables.schema import Role


def note(study: Study, *, forced: bool) -> str:
    """Write the note: no scores, no seed, no cell of the confidential table."""
    parts = [
        "# Synthetic data",
        _what(study),
        "" if not forced else _FORCED,
        "## How it was made",
        _how(study),
        "## How to analyse it",
        _analysis(study),
        "## What it is not",
        _LIMITS,
        f"Made with understudy {__version__}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


_FORCED = (
    "**This release was forced.** At least one of the release's own checks did not hold, and its "
    "owner released it all the same."
)
_LIMITS = (
    "Rows do not stand for persons: no row was copied from the confidential table on purpose, and "
    "a row that looks like somebody says nothing about that somebody. Rare combinations, extreme "
    "values and relations among many columns are the least faithful parts. Conclusions that "
    "matter should be confirmed on the confidential data by those who hold them. Nothing here "
    "certifies anonymity in the legal sense."
)


def _what(study: Study) -> str:
    first = study.tables[0]
    count = len(study.tables)
    files = "One file" if count == 1 else f"{count} files (replicates)"
    sizes = sorted({table.rows for table in study.tables})
    rows = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return (
        f"{files} of {rows} rows and {len(first.schema)} columns. **Every row is "
        "synthetic**: it was drawn by a statistical model that had learnt from a confidential "
        "table, and has the columns and the look of that table."
    )


def _how(study: Study) -> str:
    provenance = study.findings.provenance
    lines = _people(study)
    lines += ["Columns were drawn one after the other, each given those before it:", ""]
    visits = study.fitted.settings.visits if study.fitted is not None else ()
    for visit in visits:
        given = f" given {len(visit.given)} others" if visit.given else ""
        lines.append(
            f"- {', '.join(f'`{name}`' for name in visit.columns)}: {visit.model.name}{given}"
        )
    if any(visit.model.name == "keep" for visit in visits):
        lines += ["", "Columns listed with *keep* are those of the confidential table, unchanged."]
    leaf = provenance.get("leaf")
    if leaf is not None:
        lines += ["", f"Trees draw from leaves of at least {_donors(leaf['chosen'], study)}."]
    lines += ["", _numbers(study), *_laws(study), *_steps(study)]
    for name, why in provenance.get("dropped", {}).items():
        lines.append(f"- `{name}` was left out ({why}).")
    for name in provenance.get("surrogates", ()):
        lines.append(f"- `{name}` holds fresh, meaningless identifiers.")
    lines += _added(study)
    return "\n".join(lines)


def _donors(leaf: int, study: Study) -> str:
    """How many donors a leaf has at the least."""
    if _wide(study) is None:
        return f"{leaf} people"
    return f"{leaf} rows, which are those of {min(leaf, PEOPLE)} people or more"


def _wide(study: Study) -> Wide | None:
    """How people with several rows were taken apart, where there are such."""
    return study.fitted.settings.wide if isinstance(study.fitted, FittedPanel) else None


def _people(study: Study) -> list[str]:
    """That rows of one person stay together, and how they were drawn."""
    wide, table = _wide(study), study.tables[0]
    if wide is None:
        return []
    (group,) = table.schema.with_role(Role.GROUP)
    order = f", in the order of `{wide.time}`" if wide.time else ", in order"
    steady = ", ".join(f"`{name}`" for name in wide.constant)
    same = f" with {steady}, which never change in a person" if steady else ""
    return [
        f"Rows with the same `{group}` belong to one person, who is made up, as is the identifier: "
        f"they stand together{order}. First a number of rows was drawn for each person{same}; then "
        "row after row, each given the one before. What goes further back than the row before is "
        "kept only as far as that row carries it.",
        "",
    ]


_PREPARED = {
    "drop": "left out",
    "band": "numbers were grouped into intervals",
    "top_code": "numbers above a threshold were set to it",
    "bottom_code": "numbers below a threshold were set to it",
    "merge_rare": "rare levels were merged into one",
    "round": "numbers were rounded",
    "outliers": "rows with values far out were left out",
}
_PERTURBED = "values far out were exchanged among the rows that have them"


def _steps(study: Study) -> list[str]:
    """Steps before the synthesis, rules, and protections: which columns, never a value."""
    plan = study.plan
    lines = []
    for entry in plan.prepare:
        names = entry.get("columns") or [entry.get("column")]
        listed = ", ".join(f"`{name}`" for name in names)
        done = _PERTURBED if entry.get("how") in ("swap", "draw") else _PREPARED[entry["do"]]
        lines.append(f"- {listed}: {done} before anything was learnt.")
    if plan.rules:
        many = "1 rule" if len(plan.rules) == 1 else f"{len(plan.rules)} rules"
        lines.append(f"- {many} of logic restricted what could be drawn.")
    lines += [f"- **{sentence}.**" for sentence in unresolved(study.findings)]
    lines += [
        f"- Afterwards `{entry['do']}` took out and redrew rows."
        for entry in plan.protections
        if entry["do"] not in (InferencePrevention.name, Noise.name)
    ]
    return lines


def unresolved(findings: Findings) -> list[str]:
    """Sentences about rows that break a rule because no draw could meet it."""
    found = []
    for item in findings.receipts:
        if item.get("step") == "rules" and item.get("unresolved"):
            rows, which = item["unresolved"], item["replicate"]
            found.append(f"{rows:,} rows of synthetic table {which} break a rule of the plan")
    return found


def _added(study: Study) -> list[str]:
    """That rows were added, and what it means for an analysis: in words, never how many."""
    if all(entry.get("do") != InferencePrevention.name for entry in study.plan.protections):
        return []
    names = study.tables[0].schema.with_role(Role.SENSITIVE)
    which = ", ".join(f"`{name}`" for name in names) or "sensitive columns"
    return [
        "",
        f"After drawing, rows were added wherever a value of {which} would have stood out among "
        "the rows that resemble some person: synthetic rows of the same kind with other values. "
        "So a value that is rare in a neighbourhood is somewhat too rare there, and the files may "
        "have more rows than were drawn at first, each a different number.",
    ]


def _numbers(study: Study) -> str:
    """What became of numbers that trees drew: blurred within intervals, or handed out as such."""
    blurred: list[str] = []
    exact: list[str] = []
    fitted = study.fitted
    for visit in fitted.settings.visits if fitted is not None else ():
        smooth = getattr(visit.model, "smooth", None)
        for name in visit.columns if smooth is not None else ():
            if fitted is not None and fitted.encoding[name].is_numeric:
                (blurred if smooth else exact).append(f"`{name}`")
    lines = []
    if blurred:
        lines.append(
            "Numbers that few people share were blurred within intervals that several people share."
        )
    if exact:
        lines.append(f"Values of {', '.join(exact)} are those of the confidential table's people.")
    if not _public(study):
        lines.append("No further noise was added." if blurred else "No noise was added.")
    return " ".join(lines)


def _public(study: Study) -> list[str]:
    """What noise was added to which numbers: its law, which is no secret."""
    found = (item for item in study.findings.receipts if item.get("protection") == Noise.name)
    return [str(law) for law in next(found, {}).get("public", ())]


def _laws(study: Study) -> list[str]:
    laws = _public(study)
    if not laws:
        return []
    return [
        "",
        "Numbers were changed afterwards. Noise was drawn once for each value: rows that had the "
        "same value of a column have the same noise in it, in all files. So it does not average "
        "out, and values that many rows share moved together. Rules may no longer hold exactly "
        "for these columns.",
        "",
        *(f"- {law}." for law in laws),
    ]


def _analysis(study: Study) -> str:
    count = len(study.tables)
    one = "Analyse the file as if it were the original."
    several = (
        f"Analyse each of the {count} files in the same way, as if it were the original, and "
        "average the estimates and their variances; do not stack the files."
    )
    return f"{one if count == 1 else several} {_variances(study, count)}"


def _variances(study: Study, count: int) -> str:
    rule = study.fitted.settings.combining if study.fitted is not None else "simple"
    if rule == "partial":
        return _KEPT if count == 1 else _KEPT_SEVERAL
    sizes = study.findings.tables
    unit = "rows" if _wide(study) is None else "people"
    learnt = int(sizes["train"][unit])
    drawn = rule == "proper"
    rows = max(int(table[unit]) for table in sizes["synthetic"])
    factor = inflation(rows, learnt, count, drawn=drawn)
    which = "(k/n + (1 + k/n)/m)" if drawn else "(k/n + 1/m)"
    file = "synthetic rows a file" if unit == "rows" else "people in a file"
    how = "were" if drawn else "were not"
    return _clustered(study) + (
        "Standard errors computed from synthetic rows know nothing of how few people the rows were "
        f"learnt from. For statements about the population, multiply the variance by {factor:.2f} "
        f"(standard errors by {factor**0.5:.2f}). That is {which} for k = {rows:,} {file}, "
        f"n = {learnt:,} people learnt from and m = {count}; the model's parameters {how} "
        "drawn anew for each file (Raab, Nowok & Dibben 2016). It holds for estimates that the "
        "model keeps."
    )


def _clustered(study: Study) -> str:
    """Rows of one person are not independent."""
    if _wide(study) is None:
        return ""
    (group,) = study.tables[0].schema.with_role(Role.GROUP)
    return (
        "Rows of one person are not independent: use methods for repeated measures, or standard "
        f"errors clustered by `{group}`. "
    )


_KEPT = (
    "Columns that are kept carry the confidential table's own uncertainty, drawn ones add to it: "
    "from one file nobody can tell how much. The variance of an estimate that rests on drawn "
    "columns is at most about three times what the file gives."
)
_KEPT_SEVERAL = (
    "Add to the average variance the variance of the estimates between the files, divided by their "
    "number (Reiter 2003, partially synthetic data)."
)


def inflation(rows: int, learnt: int, replicates: int, *, drawn: bool) -> float:
    """What the variance computed from synthetic rows must be multiplied by.

    k rows a table, learnt from n people, m tables: the estimate of one table has variance V/n for
    the people, another V/n if the parameters were drawn, and V/k for the rows, of which the table
    itself shows V/k. So the factor is k/n + 1/m, or k/n + (1 + k/n)/m (Raab, Nowok & Dibben 2016).

    Example:
        >>> inflation(1000, 1000, 1, drawn=False), inflation(1000, 1000, 1, drawn=True)
        (2.0, 3.0)
    """
    share = rows / learnt
    return share + (1 + share if drawn else 1.0) / replicates
