"""The rows of what can be called: the catalog as it was discovered for each caller."""

from __future__ import annotations

from django.db import models


class CatalogSnapshot(models.Model):
    """The tools that one source offered to one caller's credential, with their whole schemas.

    `previous_tools` are those it offered until `changed_at`; None where it never offered others.
    """

    source = models.CharField(max_length=40)
    caller_fingerprint = models.CharField(max_length=64)
    tools = models.JSONField(default=list)
    refused = models.JSONField(default=list)
    digest = models.CharField(max_length=64, blank=True)
    previous_tools = models.JSONField(null=True)
    changed_at = models.DateTimeField(null=True)
    fetched_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    last_error = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-fetched_at"]
        default_permissions = ("view",)
        permissions = [("refresh_catalogsnapshot", "Can have the tools asked for anew")]
        indexes = [models.Index(fields=["-fetched_at"], name="catalog_fetched")]
        constraints = [
            models.UniqueConstraint(fields=["source", "caller_fingerprint"], name="catalog_once_a_caller"),
        ]

    def __str__(self) -> str:
        return f"{self.source} for {self.caller_fingerprint[:8]}"


class ToolDeclaration(models.Model):
    """How a source declared one tool: its description and schemas, as long as they stayed the same.

    The first one of a name is taken as it is; each later one is a change, until an operator has approved it.
    """

    source = models.CharField(max_length=40)
    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    declaration = models.JSONField()
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    approved_at = models.DateTimeField(null=True, blank=True)
    approved_by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ["-first_seen_at"]
        default_permissions = ("view",)
        permissions = [("approve_tooldeclaration", "Can approve a change of a tool")]
        constraints = [
            models.UniqueConstraint(fields=["source", "name", "digest"], name="declaration_once_a_digest"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.source}"
