"""A stand-in for the provider of web search: Serper's `/search` over a handful of made-up pages."""
