"""The parts of the page One weight."""
