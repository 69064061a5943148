"""Models: fit, sample, score, and ask what one record changes."""

from understudy.synth.base import Model
from understudy.synth.boosted import Boost
from understudy.synth.cart import Cart
from understudy.synth.dirichlet import DirichletMultinomial
from understudy.synth.keep import Keep
from understudy.synth.likelihood import MultinomialML
from understudy.synth.marginal import Marginal
from understudy.synth.mixture import Mixture
from understudy.synth.multinomial import Multinomial

MODELS: dict[str, type[Model]] = {
    "boosted": Boost,
    "cart": Cart,
    "dirichlet-multinomial": DirichletMultinomial,
    "keep": Keep,
    "marginal": Marginal,
    "mixture": Mixture,
    "multinomial": Multinomial,
    "multinomial-ml": MultinomialML,
}
