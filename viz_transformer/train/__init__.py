"""Training: tasks, batches, and the loop around Lightning. Needs the extra `train`."""
