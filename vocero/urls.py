"""Addresses: the applications' own, the admin, the docs."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("conversations.urls")),
]

handler403 = "conversations.plain_pages.refused"
handler404 = "conversations.plain_pages.missing"
handler500 = "conversations.plain_pages.broken"
