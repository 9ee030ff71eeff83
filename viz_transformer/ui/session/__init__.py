"""What a session keeps: the selection, the runs that it shows, and what is shared between sessions."""
