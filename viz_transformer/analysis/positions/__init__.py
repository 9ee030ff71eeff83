"""How does a model know the position of a token?"""
