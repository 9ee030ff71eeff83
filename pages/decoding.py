"""Decoding: how is the answer written, step by step, and what else could it have been?"""

from viz_transformer.ui.frame.page import begin, show_page
from viz_transformer.ui.pages.decoding.words import OF_RECORDING

begun = begin("Decoding", rows="chosen", recording=OF_RECORDING, steps=True, bar="decoding_bar")

from viz_transformer.ui.pages.decoding.page import PAGE

show_page(PAGE, begun)
