"""Layers: what did each sub-layer do to the stream?"""

from viz_transformer.ui.frame.page import begin, show_page

begun = begin("Layers")

from viz_transformer.ui.pages.layers.page import PAGE

show_page(PAGE, begun)
