"""A stand-in for an ApiPilot bridge: phone login, a list of tools and their execution, over plain HTTP."""
