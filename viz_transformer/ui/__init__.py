"""The Streamlit code that pages share. Nothing here imports torch, spaCy or plotly before a page asks for a result."""
