"""One run: what is recorded of it, edits, tracing, decoding step by step, search, and other ways to go on."""
