"""Who is talking: conversations, their calls and their record."""
