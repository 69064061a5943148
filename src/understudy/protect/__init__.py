"""Protections: steps between drawing and release, each with a receipt."""

from understudy.protect.base import Protection, Receipt
from understudy.protect.distance_filter import DistanceFilter
from understudy.protect.inference_prevention import InferencePrevention
from understudy.protect.noise import Noise
from understudy.protect.replicated_uniques import ReplicatedUniques

PROTECTIONS: dict[str, type[Protection]] = {
    "replicated-uniques": ReplicatedUniques,
    "inference-prevention": InferencePrevention,
    "distance-filter": DistanceFilter,
    "noise": Noise,
}

__all__ = [
    "PROTECTIONS",
    "DistanceFilter",
    "InferencePrevention",
    "Noise",
    "Protection",
    "Receipt",
    "ReplicatedUniques",
]
