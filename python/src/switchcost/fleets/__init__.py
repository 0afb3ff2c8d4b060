"""Compares one measurement on many hosts: finds the hosts that differ, and the facts that set them apart."""

from __future__ import annotations

from .fleet import Fleet, gather
from .plan import Plan

__all__ = ["Fleet", "Plan", "gather"]
