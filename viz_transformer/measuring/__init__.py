"""What a checkpoint says about many texts: its answers, how good they are, and the data to measure on."""
