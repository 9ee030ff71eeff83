"""Tensors: what are the numbers of this run, at every point?"""

from viz_transformer.ui.frame.page import begin, show_page

begun = begin("Tensors", rows="none")  # what is looked at may be another trace

from viz_transformer.ui.pages.tensors.page import PAGE

show_page(PAGE, begun)
