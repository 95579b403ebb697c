"""The Django application for conversations."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "conversations"
    verbose_name = "Calls"
    default_auto_field = "django.db.models.BigAutoField"
