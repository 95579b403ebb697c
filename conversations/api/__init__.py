"""The HTTP interface of conversations."""
