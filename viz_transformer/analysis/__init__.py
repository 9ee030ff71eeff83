"""Pure functions of traces, arrays and texts: what a figure or a page shows, worked out and testable by numbers."""
