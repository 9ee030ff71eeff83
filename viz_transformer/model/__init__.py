"""The transformer, one file for each box of the paper's figure."""
