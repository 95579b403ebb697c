"""What each tool answers a caller: data that they may see, and the same in plain words."""
