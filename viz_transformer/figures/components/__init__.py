"""Interactive pictures: plain ES modules and CSS, read from this folder, and in Python the payload of each.

Text is set as text, never as markup. Nothing here knows where the picture is shown: on a page, in a notebook, or from a
file."""
