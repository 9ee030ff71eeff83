"""Small views that one touches: plain ES modules and CSS, read from this folder; text is set as text, never as markup.

Each is one function, so that a test can stand in for it.
"""
