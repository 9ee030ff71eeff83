"""One run: what is recorded of it, edits, tracing, decoding step by step, search, and other ways to go on."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["edits"])
