"""Makes the pictures under `docs/screenshots` from a running demo: `python -m demo.screenshots`."""
