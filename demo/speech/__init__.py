"""A stand-in for an OpenAI Realtime speech service: hears, picks tools and speaks on this computer alone."""
