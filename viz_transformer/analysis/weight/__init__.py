"""How does one weight come about?"""
