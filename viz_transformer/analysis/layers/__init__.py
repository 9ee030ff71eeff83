"""What does each sub-layer read, add and leave?"""
