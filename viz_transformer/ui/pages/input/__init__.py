"""The parts of the page Input."""
