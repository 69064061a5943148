"""The walk, once: from a table to a release and its findings. Nothing here writes or draws."""

from understudy.study.judge import MEASURES, Gating, Progress, silent
from understudy.study.walk import Study, Tuner, assess, learnt_from, run

__all__ = [
    "MEASURES",
    "Gating",
    "Progress",
    "Study",
    "Tuner",
    "assess",
    "learnt_from",
    "run",
    "silent",
]
