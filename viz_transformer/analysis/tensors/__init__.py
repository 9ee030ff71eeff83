"""What are the numbers of a point?"""
