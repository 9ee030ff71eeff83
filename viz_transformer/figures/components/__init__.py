"""Pictures that one touches: plain ES modules and CSS, read from this folder, and in Python the bytes that each gets.

Text is set as text, never as markup. Nothing here knows what the picture stands in: a page, a notebook, or a file.
"""
