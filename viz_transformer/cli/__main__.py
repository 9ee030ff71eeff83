"""`python -m viz_transformer.cli` is the command `viz-transformer`."""

from viz_transformer.cli import main

main()
