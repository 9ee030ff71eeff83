"""Imports weights of other programs: reads the file, recognises its layout, writes a checkpoint folder."""
