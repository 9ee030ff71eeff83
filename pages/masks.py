"""Masks: what may a position see, and does anything read ahead?"""

from viz_transformer.ui.frame.page import begin, show_page
from viz_transformer.ui.pages.masks import words

begun = begin("Masks", recording=words.OF_RECORDING)

from viz_transformer.ui.pages.masks.page import PAGE

show_page(PAGE, begun)
