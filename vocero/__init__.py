"""The project: composes the applications, decides nothing."""
