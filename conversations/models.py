"""The rows of a conversation: its state, its credential, its turns and their tool calls."""

from __future__ import annotations

import secrets
import uuid

from django.db import models

_REF_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


def new_ref() -> str:
    """A reference that a caller reads out and an operator searches for: seven letters, no look-alikes."""
    return "".join(secrets.choice(_REF_LETTERS) for _ in range(7))


class Conversation(models.Model):
    """One caller's conversation; `owner` and `lease_expires_at` say which live call, if any, holds it.

    `session` is what an integrator asked of the speech session; `claimed_at` is when the present owner came.
    `turn_key` and `turn_lease_expires_at` say which turn over HTTP, if any, runs now. With
    `tools_stale` the live call is to ask for its tools anew.
    """

    class State(models.TextChoices):
        OPEN = "open"
        CLOSED = "closed"

    class CloseReason(models.TextChoices):
        CALLER_CLEANUP = "caller_cleanup"
        SUPERSEDED = "superseded"
        EXPIRED = "expired"
        IDLE = "idle"
        AUTH_EXPIRED = "auth_expired"
        OPERATOR = "operator"
        ERROR = "error"

    class Mode(models.TextChoices):
        MCP = "mcp"
        APIPILOT = "apipilot"
        PLAIN = "plain"

    class Erasure(models.TextChoices):
        WORDS = "words"
        ROWS = "rows"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    state = models.CharField(max_length=6, choices=State.choices, default=State.OPEN)
    close_reason = models.CharField(max_length=16, choices=CloseReason.choices, blank=True)
    mode = models.CharField(max_length=8, choices=Mode.choices)
    caller_name = models.CharField(max_length=200, blank=True)
    backend_user_id = models.CharField(max_length=200, blank=True, db_index=True)
    browser_hash = models.CharField(max_length=64, blank=True, db_index=True)
    secret_hash = models.CharField(max_length=64, blank=True, db_index=True)
    secret_expires_at = models.DateTimeField(null=True, blank=True)
    episode_id = models.CharField(max_length=100, blank=True)
    browser_tools = models.JSONField(default=list, blank=True)
    session = models.JSONField(default=dict, blank=True)
    generation = models.PositiveIntegerField(default=0)
    owner = models.CharField(max_length=64, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    turn_key = models.CharField(max_length=32, blank=True)
    turn_lease_expires_at = models.DateTimeField(null=True, blank=True)
    tools_stale = models.BooleanField(default=False)
    opened_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    erasure = models.CharField(max_length=5, choices=Erasure.choices, blank=True)
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-opened_at"]
        default_permissions = ("view",)
        permissions = [
            ("read_transcripts", "Can read what was said"),
            ("end_conversation", "Can end a conversation"),
            ("erase_token", "Can erase session tokens"),
            ("run_cleanup", "Can run the cleanup"),
            ("erase_caller", "Can erase what is known of a caller"),
        ]
        indexes = [
            models.Index(fields=["-opened_at"], name="conversation_opened"),
            models.Index(fields=["state", "expires_at"], name="conversation_expiry"),
            models.Index(fields=["state", "last_seen_at"], name="conversation_seen"),
            models.Index(fields=["lease_expires_at"], name="conversation_lease"),
            models.Index(fields=["mode", "-opened_at"], name="conversation_mode"),
            models.Index(fields=["close_reason", "-opened_at"], name="conversation_reason"),
            models.Index(
                fields=["opened_at"],
                condition=~models.Q(erasure="") & models.Q(erased_at=None),
                name="conversation_erasing",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["secret_hash"], condition=~models.Q(secret_hash=""), name="conversation_secret_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.caller_name or 'anonymous'} · {str(self.id)[:8]}"


class BackendToken(models.Model):
    """A caller's session token at the backend, encrypted; the ciphertext goes at close."""

    conversation = models.OneToOneField(Conversation, on_delete=models.CASCADE, related_name="backend_token")
    ciphertext = models.TextField(blank=True)
    fingerprint = models.CharField(max_length=64)
    obtained_at = models.DateTimeField()
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        default_permissions = ()
        indexes = [
            models.Index(fields=["conversation"], condition=~models.Q(ciphertext=""), name="token_kept"),
        ]

    def __str__(self) -> str:
        return f"token {self.fingerprint[:8]}"


class WaitingMessage(models.Model):
    """A message of the app's for the turn that runs over HTTP, until the turn's process takes it."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="waiting_messages")
    body = models.JSONField()
    sent_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"message of {self.sent_at:%H:%M:%S}"


class Turn(models.Model):
    """One caller utterance and everything it caused; the texts are what was really heard.

    `silent_ms` is how long a turn had been silent, without cause, when it ended for that. `rating` is
    what the caller thought of the answer.
    """

    class Origin(models.TextChoices):
        VOICE = "voice"
        TEXT = "text"
        HTTP = "http"

    class Outcome(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        INTERRUPTED = "interrupted"
        CANCELLED = "cancelled"
        FAILED = "failed"

    class Rating(models.TextChoices):
        GOOD = "good"
        BAD = "bad"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Here and for tool calls an index of several fields begins with the key already.
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="turns", db_index=False
    )
    index = models.PositiveIntegerField()
    origin = models.CharField(max_length=5, choices=Origin.choices)
    caller_text = models.TextField(blank=True)
    heard_text = models.TextField(blank=True)
    silent_ms = models.PositiveIntegerField(null=True, blank=True)
    outcome = models.CharField(max_length=11, choices=Outcome.choices, default=Outcome.RUNNING)
    code = models.CharField(max_length=40, blank=True)
    ref = models.CharField(max_length=12, blank=True, db_index=True)
    rating = models.CharField(max_length=4, choices=Rating.choices, blank=True)
    started_at = models.DateTimeField()
    caller_done_at = models.DateTimeField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["conversation", "index"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["started_at"], name="turn_started"),
            models.Index(fields=["origin", "conversation"], name="turn_origin"),
            models.Index(fields=["started_at"], condition=models.Q(outcome="running"), name="turn_running"),
            models.Index(
                fields=["rating", "conversation"], condition=~models.Q(rating=""), name="turn_rated"
            ),
            models.Index(
                fields=["conversation", "index"], condition=models.Q(outcome="failed"), name="turn_failed"
            ),
            models.Index(
                fields=["started_at"],
                condition=~models.Q(caller_text="", heard_text=""),
                name="turn_worded",
            ),
        ]
        constraints = [models.UniqueConstraint(fields=["conversation", "index"], name="turn_once")]

    def __str__(self) -> str:
        return f"turn {self.index}"


class ToolCall(models.Model):
    """The audit row of one attempt to use a tool, refusals included; closed exactly once.

    `sources` are the titles that its caller was told, part of the payload as `arguments` and `excerpt` are.
    """

    class Status(models.TextChoices):
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed"

    class Selection(models.TextChoices):
        NATIVE = "native"
        MARKER = "marker"
        BRAIN = "brain"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="tool_calls", db_index=False
    )
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="tool_calls", db_index=False)
    sequence = models.PositiveIntegerField()
    source = models.CharField(max_length=40, blank=True)
    selection = models.CharField(max_length=6, choices=Selection.choices)
    name = models.CharField(max_length=200, blank=True)
    arguments = models.JSONField(null=True, blank=True)
    argument_digest = models.CharField(max_length=64, blank=True)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.RUNNING)
    code = models.CharField(max_length=24, blank=True)
    result_chars = models.PositiveIntegerField(default=0)
    truncated = models.BooleanField(default=False)
    excerpt = models.TextField(blank=True)
    sources = models.JSONField(null=True, blank=True)
    generation = models.PositiveIntegerField(default=0)
    ref = models.CharField(max_length=12, blank=True, db_index=True)
    started_at = models.DateTimeField(db_index=True)
    approved_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["-started_at"]
        default_permissions = ("view",)
        permissions = [("read_payloads", "Can read arguments and results")]
        indexes = [
            models.Index(fields=["status", "-started_at"], name="toolcall_status"),
            models.Index(fields=["conversation", "started_at"], name="toolcall_conversation"),
            models.Index(fields=["name", "-started_at"], name="toolcall_name"),
            models.Index(fields=["name"], opclasses=["varchar_pattern_ops"], name="toolcall_name_begins"),
            models.Index(fields=["source", "-started_at"], name="toolcall_source"),
            models.Index(fields=["selection", "-started_at"], name="toolcall_selection"),
            models.Index(fields=["code", "-started_at"], name="toolcall_code"),
            models.Index(
                fields=["-started_at"], condition=models.Q(duration_ms__gte=5_000), name="toolcall_very_slow"
            ),
            models.Index(
                fields=["conversation", "started_at"],
                condition=models.Q(status="failed"),
                name="toolcall_failed",
            ),
            models.Index(
                fields=["started_at"],
                condition=~models.Q(arguments__isnull=True, excerpt=""),
                name="toolcall_filled",
            ),
        ]
        constraints = [models.UniqueConstraint(fields=["turn", "sequence"], name="toolcall_once")]

    def __str__(self) -> str:
        return f"{self.name or 'unknown tool'} · {self.status}"


class UpstreamSession(models.Model):
    """One session at the speech service, as it was declared."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="upstream_sessions")
    dialect = models.CharField(max_length=20)
    selection = models.CharField(max_length=6, choices=ToolCall.Selection.choices, blank=True)
    tool_names = models.JSONField(default=list)
    instruction_digest = models.CharField(max_length=64, blank=True)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    close_reason = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ["opened_at"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["opened_at"], condition=models.Q(closed_at=None), name="upstream_open"),
            models.Index(fields=["dialect", "conversation"], name="upstream_dialect"),
            models.Index(fields=["opened_at"], name="upstream_opened"),
        ]

    def __str__(self) -> str:
        return f"{self.dialect} · {self.selection or 'no tools'}"


class PhoneLink(models.Model):
    """A signed single-use link; the phone is encrypted and goes when the link is used or expires."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    phone_ciphertext = models.TextField(blank=True)
    phone_ending = models.CharField(max_length=4)
    made_by = models.CharField(max_length=150, blank=True)
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by_hash = models.CharField(max_length=64, blank=True)
    conversation = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.SET_NULL, related_name="phone_links"
    )

    class Meta:
        ordering = ["-made_at"]
        default_permissions = ("view",)
        permissions = [("make_phonelink", "Can make a phone link")]
        indexes = [
            models.Index(fields=["-made_at"], name="phonelink_made"),
            models.Index(
                fields=["expires_at"], condition=~models.Q(phone_ciphertext=""), name="phonelink_waiting"
            ),
        ]

    def __str__(self) -> str:
        return f"link for …{self.phone_ending}"


class CleanupRun(models.Model):
    """What one cleanup changed, by step, and the steps that failed; a dry run leaves none."""

    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    rows = models.JSONField(default=dict)
    failures = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["-ended_at"]
        default_permissions = ()
        indexes = [models.Index(fields=["-ended_at"], name="cleanup_ended")]

    def __str__(self) -> str:
        return f"cleanup of {self.ended_at:%d %b %H:%M}"


class ApiKey(models.Model):
    """An integrator's key; only its SHA-256 is kept."""

    name = models.CharField(max_length=100)
    key_hash = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]
        verbose_name = "API key"
        default_permissions = ("view",)
        permissions = [("manage_apikeys", "Can make and revoke API keys")]

    def __str__(self) -> str:
        return self.name
