"""Words of a plan file: the orders it knows and the comments it is written with."""

from __future__ import annotations

ORDERS = ("few-levels-first", "table")
NUMBERS = "@numbers"
"""Stands for all continuous columns that no other visit names."""

COMMENTS = {
    "name": "A plan: how a synthetic table is made and judged. All keys are optional.",
    "min_rows": "Tables with fewer rows than this are refused: they cannot be protected.",
    "missing": "Words that mean a missing value, in every column (the empty cell always does).",
    "measures": "Measures to compute; leave the key out for all default ones.",
    "calibrate": "Judge a copy, a fresh draw and a permuted table too, to see what each can tell.",
    "notes": "Sentences that go into the report.",
    "columns": "What columns are, where the guess is wrong: kind, role, levels, missing,\n"
    "decimals, fixed, format, label; identifier = drop or surrogate.",
    "published": "What was published about these people before: name, file, columns it shows.",
    "prepare": "Disclosure control by hand, before the split.",
    "split": "The rest of the rows is the holdout: never seen by the synthesis.",
    "split.train": "Share of the rows that the synthesis learns from.",
    "split.strata": "Split within the levels of this column.",
    "synthesis": "The model of every column that no visit names, and its settings.",
    "synthesis.order": "few-levels-first, table, or a list of columns (the others follow).",
    "synthesis.replicates": "Number of synthetic tables.",
    "synthesis.rows": "Rows of each; leave the key out for as many as the table has.",
    "synthesis.min_leaf": "Fewest donors of a leaf; auto: the smallest that holds on an inner\n"
    "split.",
    "visits": "Steps of the synthesis: model, columns, given (all drawn before), without, strata,\n"
    "and the model's settings.",
    "rules": "Logic that every row must obey.",
    "protections": "Steps after the synthesis.",
    "measure": "Settings of measures, by name.",
    "distance": "How far apart two rows are, for all that measures closeness.",
    "distance.metric": "typed, euclidean-codes or hamming.",
    "distance.queries": "At most this many rows of a release ask for neighbours.",
    "margins": "How much worse than the holdout still counts as equal, by measure.",
    "gates": "What blocks the release.",
    "gates.names": "Measures that must not fail.",
    "tune": "How free settings are found (understudy tune, release --tune).",
    "tune.free": "auto, or a list of settings with low and high.",
    "tune.objective": "(24): the mean pMSE ratio near 1; or the name of any number.",
    "tune.trials": "Trials of each search; there are as many searches as seeds.",
    "tune.swap": "Both halves of train are learnt from, by every other replicate.",
    "gates.strict": "Undecided blocks too.",
    "gates.error": "Family-wise false-alarm rate: how often an ideal release may be blocked.",
    "report": "What the private report shows.",
    "report.map": "Where people are, if two columns say so: points of the confidential table.",
}
