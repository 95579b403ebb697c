"""The project: composes the applications, decides nothing."""

VERSION = "0.1.0"
