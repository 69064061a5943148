"""NOTE.md, the public word on a release: what it is, how it was made, how to analyse it."""

from __future__ import annotations

from understudy import __version__
from understudy.study import Study


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
    return (
        f"{files} of {first.rows:,} rows and {len(first.schema)} columns. **Every row is "
        "synthetic**: it was drawn by a statistical model that had learnt from a confidential "
        "table, and has the columns and the look of that table."
    )


def _how(study: Study) -> str:
    provenance = study.findings.provenance
    lines = ["Columns were drawn one after the other, each given those before it:", ""]
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
        lines += ["", f"Trees draw from leaves of at least {leaf['chosen']} people."]
    lines += [
        "",
        "Numbers that few people share were blurred within intervals that several people share; "
        "no further noise was added.",
    ]
    for name, why in provenance.get("dropped", {}).items():
        lines.append(f"- `{name}` was left out ({why}).")
    for name in provenance.get("surrogates", ()):
        lines.append(f"- `{name}` holds fresh, meaningless identifiers.")
    return "\n".join(lines)


def _analysis(study: Study) -> str:
    count = len(study.tables)
    if count == 1:
        return (
            "Analyse the file as if it were the original. Standard errors computed from it are too "
            "small if taken for inference about the population: multiply the variance by "
            "1 + k/n for k confidential and n synthetic rows of a simple synthesis (Raab, Nowok & "
            "Dibben 2016)."
        )
    return (
        f"Analyse each of the {count} files in the same way and average the estimates. Combine "
        "their variances by the rules for synthetic data (Raghunathan, Reiter & Rubin 2003; "
        "Raab, Nowok & Dibben 2016); do not stack the files."
    )
