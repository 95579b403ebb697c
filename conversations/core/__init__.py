"""PURE: the decisions of a call; standard library only, no await, no clock, no I/O, no logging."""
