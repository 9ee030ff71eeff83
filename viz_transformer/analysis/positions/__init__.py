"""How does a model know where a token stands?"""
