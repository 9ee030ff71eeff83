"""What does each sub-layer read, and what does it add to the stream?"""
