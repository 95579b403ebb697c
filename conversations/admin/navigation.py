"""The sidebar: only what this person may open."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

# Title of the group; then title, icon, address and the permission that each page needs.
_PAGES = (
    (
        "Calls",
        (
            ("Conversations", "forum", "conversations_conversation", "conversations.view_conversation"),
            ("Turns", "record_voice_over", "conversations_turn", "conversations.view_conversation"),
            ("Tool calls", "build", "conversations_toolcall", "conversations.view_toolcall"),
            ("Catalog", "menu_book", "tools_catalogsnapshot", "tools.view_catalogsnapshot"),
            ("Tool changes", "difference", "tools_tooldeclaration", "tools.view_tooldeclaration"),
        ),
    ),
    (
        "Ways in",
        (
            ("Phone links", "link", "conversations_phonelink", "conversations.view_phonelink"),
            ("API keys", "key", "conversations_apikey", "conversations.view_apikey"),
        ),
    ),
    (
        "Operators",
        (
            ("Users", "person", "auth_user", "auth.view_user"),
            ("Groups", "group", "auth_group", "auth.view_group"),
        ),
    ),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups of links for UNFOLD's SIDEBAR; a group without a link is left out."""
    groups = [
        {
            "title": title,
            "separator": True,
            "items": [
                {"title": name, "icon": icon, "link": reverse(f"admin:{address}_changelist")}
                for name, icon, address, permission in pages
                if request.user.has_perm(permission)
            ],
        }
        for title, pages in _PAGES
    ]
    return [group for group in groups if group["items"]]
