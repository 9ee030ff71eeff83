"""Which token may read which, and which does?"""
