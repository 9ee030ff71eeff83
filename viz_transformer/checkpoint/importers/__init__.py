"""Weights of other programs: what a file holds, which layout it has, and the checkpoint folder that becomes of it."""
