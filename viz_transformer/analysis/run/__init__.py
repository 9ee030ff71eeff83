"""What happens in a whole run, from the text to the answer?"""
