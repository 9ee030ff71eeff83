"""Run: what does the model write for this text, and where did each step look?"""

from viz_transformer.ui.pages.run.places import begin, finish

begun = begin()

if begun.both is not None:
    from viz_transformer.ui.pages.run.page import show_run

    show_run(begun)
finish(begun)
