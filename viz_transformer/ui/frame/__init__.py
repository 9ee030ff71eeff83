"""What every page has: heading, sidebar, strip, controls, pictures, and how text is written."""
