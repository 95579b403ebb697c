"""Where tools live: one module a source."""
