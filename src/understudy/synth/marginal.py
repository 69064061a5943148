"""Draw a column from its own distribution, whatever the others are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.kernels.tree import grow
from understudy.synth.base import Model
from understudy.synth.cart import Cart, FittedCart, fitted_cart
from understudy.tables.encode import Block


@dataclass(frozen=True)
class Marginal(Model):
    """A tree without splits: one leaf that holds everybody.

    Attributes:
        bootstrap: draw donors' weights once per replicate (proper synthesis).
        smooth: draw numbers inside their cell; false hands out exact donors' values.
    """

    name: ClassVar[str] = "marginal"
    bootstrap: bool = True
    smooth: bool = True

    def fit(
        self,
        train: Block,
        columns: Sequence[str],
        given: Sequence[str],
        *,
        rng: np.random.Generator,
    ) -> FittedCart:
        """Tally the column; the columns given are not looked at."""
        (column,) = columns
        root = np.zeros(train.rows, dtype=np.int32)
        tree = grow([], [], [], np.zeros((train.rows, 1)), rng=rng)
        settings = Cart(bootstrap=self.bootstrap, smooth=self.smooth)
        return fitted_cart(settings, train, column, (), tree, root)
