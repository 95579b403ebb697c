"""The rows of what can be called: the catalog as it was discovered for each caller."""

from __future__ import annotations

from django.db import models


class CatalogSnapshot(models.Model):
    """The tools that one source offered to one caller's credential, with their whole schemas."""

    source = models.CharField(max_length=40)
    caller_fingerprint = models.CharField(max_length=64)
    tools = models.JSONField(default=list)
    refused = models.JSONField(default=list)
    digest = models.CharField(max_length=64, blank=True)
    fetched_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    last_error = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-fetched_at"]
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(fields=["source", "caller_fingerprint"], name="catalog_once_a_caller"),
        ]

    def __str__(self) -> str:
        return f"{self.source} for {self.caller_fingerprint[:8]}"
