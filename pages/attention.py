"""Attention: where does each head look?"""

from viz_transformer.ui.frame.page import begin, show_page

begun = begin("Attention", rows="chosen")

from viz_transformer.ui.pages.attention.page import PAGE

show_page(PAGE, begun)
