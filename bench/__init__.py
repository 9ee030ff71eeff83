"""Speed as ratios of two things timed in turn, in one process: `make bench`."""
