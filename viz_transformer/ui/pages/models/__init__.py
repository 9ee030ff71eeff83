"""The parts of the page Models."""
