"""A stand-in for a language model: OpenAI-compatible chat completions over the demo's planner."""
