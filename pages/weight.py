"""One weight: where does a single attention weight come from?"""

from viz_transformer.ui.frame.page import begin, show_page
from viz_transformer.ui.pages.weight import words

begun = begin("One weight", recording=words.OF_RECORDING)

from viz_transformer.ui.pages.weight.page import PAGE

show_page(PAGE, begun)
