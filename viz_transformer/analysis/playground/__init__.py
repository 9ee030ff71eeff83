"""What is attention made of, on numbers that one can follow by hand?"""
