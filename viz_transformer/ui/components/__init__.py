"""What puts the pictures of `figures/components`, and the invisible helpers beside them, on a page of Streamlit.

Each is one function, so that a test can replace it.
"""
