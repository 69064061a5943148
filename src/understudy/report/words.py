"""What measures ask, in plain words, and which attackers they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """A measure in plain words.

    Attributes:
        ask: the question it answers.
        means: how to read its number.
        reference: what the reference is.
        share: the number is a share, shown in per cent.
    """

    ask: str
    means: str
    reference: str = "holdout"
    share: bool = False


MEASURES: Mapping[str, Words] = {
    "ims": Words(
        "Does it repeat people’s rows?",
        "Share of synthetic rows that equal some row of train in every column. People who were "
        "never shown to the synthesis match by chance, too: they are the reference.",
        share=True,
    ),
    "dcr.p05": Words(
        "Does it come too close to people?",
        "Distance from a synthetic row to the nearest row of train; the number is the closest "
        "5% of rows. Smaller than among held-out people would mean that rows were learnt by heart.",
    ),
    "nndr.p05": Words(
        "Does it sit on single people?",
        "Distance to the nearest row of train divided by the distance to the fifth nearest; the "
        "closest 5% of rows. Near 0, a row points at one person rather than at a neighbourhood.",
    ),
    "dcr.share": Words(
        "Is it nearer to train than to strangers?",
        "Share of synthetic rows whose nearest real row, among train and held-out people together, "
        "is one of train. A release that knows nothing of who is in train finds train’s share of "
        "those rows: that is the reference.",
        reference="chance",
        share=True,
    ),
    "copies": Words(
        "Does it share more rows with train than chance?",
        "Overlap of the two tables as multisets of rows, against the overlap when the same rows "
        "are dealt out at random.",
        reference="chance",
        share=True,
    ),
    "likeness": Words(
        "Is it more like train than chance allows?",
        "How well a logistic model tells synthetic rows from train’s, over what it does for two "
        "samples of one population. These give about 1; rows taken from train, even with a cell "
        "changed here and there, give much less.",
        reference="chance",
    ),
    "uniques.replicated": Words(
        "Does it show people who are unique?",
        "Share of synthetic rows whose combination of values belongs to exactly one person of "
        "train.",
        share=True,
    ),
    "attribute.exceeding": Words(
        "Does it give a rare sensitive value away?",
        "Of the people with a rare value, the share for whom an attacker who knows their "
        "quasi-identifiers gets much surer of it (ten times, unless the plan says otherwise) by "
        "looking at the synthetic rows that resemble them. Strangers’ rows do that to some extent, "
        "too: they are the reference.",
        share=True,
    ),
    "attribute.max_ratio": Words(
        "How much surer of a sensitive value can an attacker get?",
        "The largest factor by which the probability of somebody’s true value grows over its share "
        "among all people.",
    ),
    "attribute.widened": Words(
        "And if the attacker never gives up?",
        "The same factor for an attacker who takes the nearest rows, however far, where nobody "
        "resembles the person.",
    ),
    "attribute.correct": Words(
        "How often does an attacker guess a sensitive value?",
        "Share of people whose value is the most frequent one among the rows that resemble them, "
        "at the best radius. Much of it may be known without any release: see the next number.",
        share=True,
    ),
    "attribute.prior_correct": Words(
        "How often would anybody guess it without the release?",
        "Share of people who have the value that is the most probable beforehand.",
        reference="itself",
        share=True,
    ),
    "gtcap.mean": Words(
        "How much of what people’s own rows give away does it give away?",
        "Of people who are unique on the keys and the sensitive value together, counting what is "
        "near as equal: 0 if the release says no more of the value than its frequency among all "
        "people, 1 if it says as much as train itself. Strangers, each taken for one more row of "
        "train, are the reference.",
        share=True,
    ),
    "dcap": Words(
        "How often is a row with a person’s keys right about them?",
        "Mean share of a person’s own sensitive value among the synthetic rows that have exactly "
        "their keys; no such row counts 0 (DCAP).",
        share=True,
    ),
    "tcap": Words(
        "Where it is sure of a sensitive value, how often is it right?",
        "Of the people whose keys’ synthetic rows all have one sensitive value, the share for whom "
        "it is their own (TCAP; the denominator is these people).",
        share=True,
    ),
    "disco": Words(
        "For how many people is it sure of the value, and right?",
        "Share of all people whose keys’ synthetic rows all have one sensitive value, and it is "
        "their own (DiSCO).",
        share=True,
    ),
    "repu": Words(
        "How many unique people come back as a single row?",
        "Share of people who are unique on the keys and whose keys occur exactly once in the "
        "release (repU).",
        share=True,
    ),
    "singling_out.univariate": Words(
        "Does a guess on one column fit exactly one person?",
        "Share of guesses, made from values that a single synthetic row has, that fit exactly one "
        "person of train. The reference is what they would do in a table of the same size, dealt "
        "from people among whom the release could not tell.",
        share=True,
    ),
    "singling_out.multivariate": Words(
        "Does a guess on several columns fit exactly one person?",
        "Share of guesses, made from a few values of a synthetic row that no other row has, that "
        "fit exactly one person of train. The reference is what they would do in a table of the "
        "same size, dealt from people among whom the release could not tell.",
        share=True,
    ),
    "linkability": Words(
        "Can two files about a person be linked through it?",
        "Share of people whose nearest synthetic row on the columns of one file is also nearest on "
        "those of the other. Strangers are linked by chance, too: they are the reference.",
        share=True,
    ),
    "inference": Words(
        "Does the nearest synthetic row tell a person’s unknown value?",
        "Share of people whose value is that of the synthetic row nearest to them on the other "
        "columns. Much of it is true of strangers, too: they are the reference.",
        share=True,
    ),
    "ecap.max": Words(
        "Does one number show that a person is in the data?",
        "The largest probability, over all people, that a released number near a person’s own is "
        "that person, and so in the sample, for an attacker who knows the number, the population "
        "and the noise (ECAP). Without any release it is the share of the population that was "
        "sampled: that is the reference.",
        reference="chance",
        share=True,
    ),
    "posterior.correct": Words(
        "How often is the last person guessed?",
        "Share of people whose sensitive values are the best guess of somebody who knows everybody "
        "else’s record, the rest of theirs, and how the release was made. The same guess without "
        "the release is the reference: the difference is what the release adds.",
        reference="without the release",
        share=True,
    ),
    "posterior.prior_correct": Words(
        "How often without the release?",
        "The same guess before seeing the release.",
        reference="itself",
        share=True,
    ),
    "posterior.max_ratio": Words(
        "How much surer of the last person’s values?",
        "The largest factor by which the release multiplies the probability of somebody’s true "
        "sensitive values, for somebody who knows everybody else’s record.",
        reference="no release",
    ),
    "marginal.distance": Words(
        "Single columns",
        "Share of rows that would have to change for the column to look like train’s (total "
        "variation), against what two samples of one population show.",
        reference="chance",
        share=True,
    ),
    "pair.distance": Words(
        "Pairs of columns",
        "Share of rows that would have to change for a pair of columns to look like train’s (total "
        "variation in at most 12 groups a column).",
        reference="chance",
        share=True,
    ),
    "l_function.gap": Words(
        "Clusters on the map (L function)",
        "Largest difference of L between train and the release over all distances. L(h) − h is 0 "
        "where people live anywhere alike, and large where they live in clusters of that size.",
        reference="chance",
    ),
    "pmse.logit": Words(
        "A logistic model tells rows apart (pMSE)",
        "Mean squared distance of the predicted probability of being synthetic from its average.",
        reference="chance",
    ),
    "pmse.logit.ratio": Words(
        "A logistic model tells rows apart",
        "pMSE over what two samples of one population give: 1 is what to hope for.",
        reference="chance",
    ),
    "pmse.cart": Words(
        "A tree tells rows apart (pMSE)",
        "Mean squared distance of the predicted probability of being synthetic from its average.",
        reference="chance",
    ),
    "pmse.cart.ratio": Words(
        "A tree tells rows apart",
        "pMSE over what two samples of one population give: 1 is what to hope for.",
        reference="chance",
    ),
    "specks": Words(
        "Largest gap between the propensities (SPECKS)",
        "Kolmogorov–Smirnov distance of the logistic model’s propensities, real against synthetic.",
        reference="chance",
        share=True,
    ),
    "pmse.pairs.max": Words(
        "The pair of columns that tells rows apart best",
        "pMSE of a pair of columns crossed, over what two samples of one population give: 1 is "
        "what to hope for. Once for the largest ratio, once for the pair furthest above chance.",
        reference="chance",
    ),
    "estimate.ratio": Words(
        "A finding that the plan lists",
        "The finding on synthetic rows over the same finding on the original’s.",
        reference="itself",
    ),
    "regression.difference": Words(
        "Coefficients differ by",
        "How far a coefficient on synthetic rows is from the original’s, in the original’s "
        "standard errors; the median over coefficients. Another sample of people would differ, "
        "too: that is the reference.",
        reference="chance",
    ),
    "regression.overlap": Words(
        "Confidence intervals overlap by",
        "Mean share of the two 95% intervals of a coefficient that both cover, in the median over "
        "coefficients. Below 0, they do not meet.",
        reference="chance",
        share=True,
    ),
}

_TIGHTEN = "raise min_leaf in [synthesis], or coarsen columns under [[prepare]]"
_ADVICE: Mapping[str, str] = {
    "ecap.max": "add the protection noise for this column, with sigma or top and bottom left out",
    "copies": "synthesise anew, and never release a copy: train’s rows are repeated",
    "uniques.replicated": "coarsen the quasi-identifiers under [[prepare]], or raise min_leaf",
}

UTILITY = ("marginal.", "pair.", "pmse.", "specks", "l_function", "regression", "estimate", "knn.")

# Who might attack, what they hold, and which measures speak about them.
ATTACKERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Somebody who knows a person’s whole row",
        "looks for that very row in the release",
        ("ims", "copies", "likeness"),
    ),
    (
        "Somebody who holds a file of similar people",
        "links each synthetic row to the nearest person, on all synthesised columns",
        ("dcr.p05", "nndr.p05", "dcr.share"),
    ),
    (
        "Somebody who knows the quasi-identifiers",
        "looks for a combination that only one person has",
        ("uniques.replicated", "repu"),
    ),
    (
        "Somebody who wants one sensitive value",
        "guesses it from the synthetic rows that resemble a known person (attribute disclosure)",
        (
            "attribute.max_ratio",
            "attribute.exceeding",
            "attribute.widened",
            "attribute.correct",
            "gtcap.mean",
            "dcap",
            "tcap",
            "disco",
        ),
    ),
    (
        "Somebody who asks whether a person was in the data",
        "membership inference, with or without the model",
        ("membership",),
    ),
    (
        "Somebody who knows one number of a person, and the population",
        "asks whether the person was in the data",
        ("ecap.max",),
    ),
    (
        "Somebody who isolates a person by a guess",
        "singling out by one or several columns",
        ("singling_out.univariate", "singling_out.multivariate"),
    ),
    (
        "Somebody who holds two files about the same people",
        "links them through the release (linkability)",
        ("linkability",),
    ),
    (
        "Somebody who infers an unknown column",
        "inference attack with a control group",
        ("inference",),
    ),
    (
        "Somebody who knows everybody but one",
        "computes the posterior of the last record",
        ("posterior.correct", "posterior.max_ratio"),
    ),
)

VERDICTS: Mapping[str, tuple[str, str]] = {
    "holds": ("✓", "holds"),
    "fails": ("✕", "fails"),
    "undecided": ("?", "undecided"),
    "not-applicable": ("–", "not applicable"),
    "not-measured": ("!", "not measured"),
}

CASES: Mapping[str, str] = {
    "copy": "Copy of train",
    "fresh": "Fresh people (held out)",
    "permuted": "Columns shuffled",
    "leak": "Known leak",
}

SEVERITY = ("fails", "not-measured", "undecided", "holds", "not-applicable")


def words(measure: str) -> Words:
    """The words of a measure; an unknown one speaks for itself."""
    return MEASURES.get(measure, Words(measure, ""))


def advice(measure: str) -> str:
    """What to change where the gate of this measure stops a release."""
    return _ADVICE.get(measure, _TIGHTEN)


def is_utility(measure: str) -> bool:
    """Whether a measure is about use, not disclosure."""
    return measure.startswith(UTILITY)
