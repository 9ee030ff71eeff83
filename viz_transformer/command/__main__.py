"""Runs the command `viz-transformer` as `python -m viz_transformer.command`."""

from viz_transformer.command import main

main()
