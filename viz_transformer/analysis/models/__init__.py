"""What is a model, and how was it trained?"""
