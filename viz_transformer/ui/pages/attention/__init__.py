"""The parts of the page Attention."""
