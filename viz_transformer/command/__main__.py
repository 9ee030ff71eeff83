"""`python -m viz_transformer.command` is the command `viz-transformer`."""

from viz_transformer.command import main

main()
