"""Stand-ins for the outside services, so that a conversation works with no keys and no network."""
