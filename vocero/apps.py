"""The project as a Django application: it brings the system checks."""

from django.apps import AppConfig


class VoceroConfig(AppConfig):
    name = "vocero"
    verbose_name = "Vocero"

    def ready(self) -> None:
        # Importing registers them; the settings they read are not there any earlier.
        from vocero import checks  # noqa: F401, PLC0415
