"""The parts of the page Playground."""
