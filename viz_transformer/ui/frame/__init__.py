"""What stands on every page: heading, sidebar, strip, controls, pictures, and how text is written."""
