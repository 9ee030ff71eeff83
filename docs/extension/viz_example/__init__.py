"""An example of what a package can add to Viz Transformer: a page and a score of heads."""
