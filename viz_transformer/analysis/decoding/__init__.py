"""How is the answer written, and how good is it?"""
