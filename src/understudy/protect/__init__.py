"""Protections: steps between drawing and release, each with a receipt."""

from understudy.protect.base import Protection, Receipt
from understudy.protect.replicated_uniques import ReplicatedUniques

PROTECTIONS: dict[str, type[Protection]] = {"replicated-uniques": ReplicatedUniques}

__all__ = ["PROTECTIONS", "Protection", "Receipt", "ReplicatedUniques"]
