"""The speech service: relays one live call."""
