"""HTTP addresses of conversations."""

urlpatterns: list[object] = []
