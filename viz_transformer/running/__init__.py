"""One run: recording, edits, tracing, step-by-step decoding, search and alternative continuations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["edits"])
