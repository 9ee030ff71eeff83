"""The parts of the page Masks."""
