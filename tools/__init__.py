"""What can be called; knows nothing of conversations."""
