"""Addresses: the applications' own, the admin, the docs."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("conversations.urls")),
]
