"""Evaluates a checkpoint on many texts: its answers, their quality, and the data to measure on."""
