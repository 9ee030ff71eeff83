"""What positions do to a query, a key or the scores, as functions that need numpy alone: *One weight* computes by them,
and the program that it copies is their source."""

import numpy as np


def pair_angles(place, size):
    """By how much this position turns each dimension's pair, in radians: [E]."""
    return np.repeat(place / 10_000.0 ** (np.arange(0, size, 2) / size), 2)


def rotated(vector, place):
    """Dimensions 2i and 2i+1 turned counter-clockwise by their angle at this position: [E]."""
    angle, even, odd = pair_angles(place, len(vector))[0::2], vector[0::2], vector[1::2]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=1).reshape(-1)


def lowered_to_both_sides(back, slope):
    """ALiBi: less for keys that are farther away. back: distance of each key back from the query, [K]."""
    return -slope * np.abs(back)


def lowered_behind(back, slope):
    """ALiBi: less for keys that are farther away; later ones are masked. back: distance back from the query, [K]."""
    return -slope * np.maximum(back, 0)
