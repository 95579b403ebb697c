"""Programs around the measured server, in the bench's own environment: load, service, references."""
