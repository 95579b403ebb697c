"""The Django application for conversations: it brings the system checks of the brain."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "conversations"
    verbose_name = "Calls"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Importing registers them; the models that they lead to are not there any earlier.
        from conversations.brains import checks  # noqa: F401, PLC0415
