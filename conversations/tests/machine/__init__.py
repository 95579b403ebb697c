"""Everything that may happen to a call, in any order, and what must hold all the same."""
