"""A stand-in for an integrator's own site, which embeds the assistant and knows its callers."""
