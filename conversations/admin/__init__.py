"""The operators' pages: everything to look at, a few things to do."""

from django.contrib import admin

from conversations.admin import (
    api_keys,
    catalog,
    conversations,
    people,
    phone_links,
    tool_calls,
    tool_declarations,
    turns,
)

admin.site.index_title = "Start here"

__all__ = [
    "api_keys",
    "catalog",
    "conversations",
    "people",
    "phone_links",
    "tool_calls",
    "tool_declarations",
    "turns",
]
