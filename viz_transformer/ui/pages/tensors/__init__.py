"""The parts of the page Tensors."""
