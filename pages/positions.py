"""Positions: how does the model know where a token is?"""

from viz_transformer.ui.frame.page import begin, show_page
from viz_transformer.ui.pages.positions import words

begun = begin("Positions", rows="none", recording=words.OF_RECORDING)

from viz_transformer.ui.pages.positions.page import PAGE

show_page(PAGE, begun)
