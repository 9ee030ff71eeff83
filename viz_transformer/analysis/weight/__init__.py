"""How does one weight come about?"""

LINES = (
    *("token", "stream", "norm", "maps", "shapes", "query", "key", "products", "divisor", "mask", "softmax"),
    *("weight", "value", "head", "merge", "output", "residual"),
)
"""The names of the lines of a ladder, from the tokens on: in addresses, in the program and in what it prints."""
