"""What does a stack start from, and what did the model learn from?"""
