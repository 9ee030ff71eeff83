"""Attacks: hostile input of every kind, made from a seed, and the property that every answer to it has to keep.

`tests/attack/test_*.py` tries some hundred of each kind, always the same ones; `make attack` many, others each time.
"""
