"""Input: what does the model read, and what vectors does it start from?"""

from viz_transformer.ui.frame.page import begin, show_page
from viz_transformer.ui.pages.input import words

begun = begin("Input", rows="none", recording=words.OF_RECORDING, waits=True)

from viz_transformer.ui.pages.input.page import PAGE

show_page(PAGE, begun)
