"""Who may see and do what in the admin: nobody, staff without permission, viewer, auditor, operator, root."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conversations.identity import keys, links
from conversations.models import ApiKey, Conversation, PhoneLink, ToolCall
from conversations.tests import operators as make
from tools.models import CatalogSnapshot, ToolDeclaration

pytestmark = pytest.mark.django_db

LISTS = {
    "conversations_conversation": "conversations.view_conversation",
    "conversations_toolcall": "conversations.view_toolcall",
    "conversations_turn": "conversations.view_conversation",
    "conversations_phonelink": "conversations.view_phonelink",
    "conversations_apikey": "conversations.view_apikey",
    "tools_catalogsnapshot": "tools.view_catalogsnapshot",
    "tools_tooldeclaration": "tools.view_tooldeclaration",
    "auth_user": "auth.view_user",
    "auth_group": "auth.view_group",
}
SHOWN = [Conversation, ToolCall, PhoneLink, ApiKey, CatalogSnapshot, ToolDeclaration]


@pytest.fixture
def recorded():
    """A conversation with a turn, a call and a session."""
    row = make.conversation(backend_user_id="u-1")
    make.call(make.turn(row))
    make.upstream(row)
    return row


@pytest.fixture
def pages(recorded):
    """Every address of ours with the permission that it needs."""
    link = links.issue("+34600000001")
    key = keys.make("kiosk")
    one = recorded.tool_calls.get()
    change = make.declaration()
    catalog = make.catalog()
    return [
        (
            reverse("admin:tools_tooldeclaration_change", args=[change.pk]),
            "tools.view_tooldeclaration",
        ),
        (
            reverse("admin:tools_tooldeclaration_approve", args=[change.pk]),
            "tools.approve_tooldeclaration",
        ),
        (reverse("admin:tools_catalogsnapshot_change", args=[catalog.pk]), "tools.view_catalogsnapshot"),
        (reverse("admin:tools_catalogsnapshot_refresh", args=[catalog.pk]), "tools.refresh_catalogsnapshot"),
        (reverse("admin:tools_catalogsnapshot_refresh_all"), "tools.refresh_catalogsnapshot"),
        *((reverse(f"admin:{name}_changelist"), permission) for name, permission in LISTS.items()),
        (reverse("admin:conversations_conversation_change", args=[recorded.pk]), to_view("conversation")),
        (reverse("admin:conversations_toolcall_change", args=[one.pk]), to_view("toolcall")),
        (reverse("admin:conversations_phonelink_change", args=[link.link_id]), to_view("phonelink")),
        (reverse("admin:conversations_apikey_change", args=[key.key_id]), to_view("apikey")),
        (reverse("admin:conversations_conversation_history", args=[recorded.pk]), to_view("conversation")),
        (
            reverse("admin:conversations_conversation_end", args=[recorded.pk]),
            "conversations.end_conversation",
        ),
        (
            reverse("admin:conversations_conversation_erase", args=[recorded.pk]),
            "conversations.erase_caller",
        ),
        (reverse("admin:conversations_conversation_cleanup"), "conversations.run_cleanup"),
        *erasures(recorded),
        (reverse("admin:conversations_phonelink_make"), "conversations.make_phonelink"),
        (reverse("admin:conversations_apikey_make"), "conversations.manage_apikeys"),
        (reverse("admin:conversations_apikey_revoke", args=[key.key_id]), "conversations.manage_apikeys"),
    ]


def erasures(recorded):
    """The addresses at which something is erased."""
    return [
        (reverse("admin:conversations_conversation_cleanup_older"), "conversations.run_cleanup"),
        (reverse("admin:conversations_phonelink_erase"), "conversations.erase_caller"),
        (
            reverse("admin:conversations_conversation_erase_token", args=[recorded.pk]),
            "conversations.erase_token",
        ),
        (
            reverse("admin:conversations_conversation_erase_caller_tokens", args=[recorded.pk]),
            "conversations.erase_token",
        ),
    ]


def to_view(model):
    return LISTS[f"conversations_{model}"]


def test_nobody_sees_a_page_without_signing_in(pages):
    for address, _ in pages:
        response = Client().get(address)
        assert response.status_code == 302, address
        assert response.url.startswith(reverse("admin:login")), address


def test_staff_without_permission_is_refused_every_page_and_action(pages):
    nobody = make.signed_in("nils")
    for address, _ in pages:
        assert nobody.get(address).status_code == 403, address
        assert nobody.post(address).status_code == 403, address


def test_exactly_the_named_permission_opens_each_page(pages):
    for number, (address, permission) in enumerate(pages):
        assert make.signed_in(f"one-{number}", [permission]).get(address).status_code == 200, address


def test_a_viewer_may_do_nothing(pages):
    viewer = make.viewer()
    acting = [address for address, permission in pages if ".view_" not in permission]
    assert acting
    for address in acting:
        assert viewer.get(address).status_code == 403, address
        assert viewer.post(address).status_code == 403, address


def test_the_groups_come_with_the_migrations():
    held = {
        group.name: {f"{p.content_type.app_label}.{p.codename}" for p in group.permissions.all()}
        for group in Group.objects.all()
    }
    assert held == {"viewer": {*make.VIEW}, "auditor": {*make.AUDIT}, "operator": {*make.OPERATE}}


@pytest.mark.parametrize("model", SHOWN)
def test_even_root_can_neither_add_change_nor_delete_a_row(model, rf):
    pages = admin.site.get_model_admin(model)
    request = rf.get("/")
    request.user = make.User(is_superuser=True, is_staff=True, is_active=True)
    allowed = pages.get_model_perms(request)
    assert allowed == {"add": False, "change": False, "delete": False, "view": True}
    assert "delete_selected" not in pages.get_actions(request)


def test_pages_of_rows_take_no_post_from_root_case_189(recorded):
    root = make.root()
    for name, pk in (("conversation", recorded.pk), ("toolcall", recorded.tool_calls.get().pk)):
        for what in ("change", "delete"):
            address = reverse(f"admin:conversations_{name}_{what}", args=[pk])
            assert root.post(address, {"post": "yes", "caller_name": "other"}).status_code == 403
        assert root.get(reverse(f"admin:conversations_{name}_delete", args=[pk])).status_code == 403
        assert root.post(reverse(f"admin:conversations_{name}_add")).status_code == 403
    recorded.refresh_from_db()
    assert recorded.caller_name == "Marta"


def test_an_account_is_switched_off_and_never_deleted_case_189():
    root = make.root()
    other = make.User.objects.create_user("gone")
    assert root.get(reverse("admin:auth_user_delete", args=[other.pk])).status_code == 403
    assert root.get(reverse("admin:auth_user_change", args=[other.pk])).status_code == 200


def test_only_an_auditor_reads_what_was_said_and_sent(recorded):
    address = reverse("admin:conversations_conversation_change", args=[recorded.pk])
    one_call = reverse("admin:conversations_toolcall_change", args=[recorded.tool_calls.get().pk])
    for client in (make.viewer(), make.operator()):
        seen = make.words(client.get(address)) + make.words(client.get(one_call))
        assert not any(hidden in seen for hidden in ("spoken question", "heard answer", "secret"))
        assert "get_report" in seen
        assert "group “auditor”" in seen
    auditor = make.auditor()
    page = make.words(auditor.get(address))
    for text in ("the spoken question", "the heard answer", "the secret argument", "the secret result"):
        assert text in page
    for text in ("the secret argument", "the secret result"):
        assert text in make.words(auditor.get(one_call))


def test_what_a_viewer_may_not_read_is_not_fetched(recorded):
    viewer = make.viewer()
    call_id = recorded.tool_calls.get().pk
    with CaptureQueriesContext(connection) as queries:
        viewer.get(reverse("admin:conversations_conversation_change", args=[recorded.pk]))
        viewer.get(reverse("admin:conversations_toolcall_change", args=[call_id]))
    sql = " ".join(query["sql"] for query in queries)
    assert '"conversations_toolcall"."name"' in sql
    for column in ("caller_text", "heard_text", "arguments", "excerpt", "ciphertext", "secret_hash"):
        assert f'"{column}"' not in sql


@pytest.mark.parametrize(
    ("model", "lookup"),
    [
        ("toolcall", "excerpt__contains=secret"),
        ("toolcall", "arguments__request__report_id=x"),
        ("toolcall", "turn__caller_text__contains=spoken"),
        ("conversation", "turns__heard_text__contains=heard"),
        ("conversation", "browser_hash__startswith=a"),
        ("conversation", "backend_token__ciphertext__startswith=a"),
        ("phonelink", "phone_ciphertext__startswith=a"),
        ("apikey", "key_hash__startswith=a"),
    ],
)
def test_no_lookup_in_the_address_lets_anybody_guess_a_hidden_column(recorded, model, lookup):
    response = make.root().get(reverse(f"admin:conversations_{model}_changelist") + f"?{lookup}")
    assert response.status_code == 400


def test_the_sidebar_offers_only_what_may_be_opened():
    page = make.words(make.viewer().get(reverse("admin:index")))
    assert reverse("admin:conversations_conversation_changelist") in page
    assert reverse("admin:conversations_apikey_changelist") not in page
    assert reverse("admin:auth_user_changelist") not in page
    assert "Your account may not see anything yet" in make.words(
        make.signed_in("nils").get(reverse("admin:index"))
    )


def test_signing_in_at_the_login_page_itself_leads_to_the_start(client):
    make.User.objects.create_superuser("ruth", password="long-enough-secret")
    response = client.post(reverse("admin:login"), {"username": "ruth", "password": "long-enough-secret"})
    assert response.url == reverse("admin:index")


def test_a_row_that_does_not_exist_leads_back_in_words():
    response = make.viewer().get(
        reverse("admin:conversations_conversation_change", args=["no-such-id"]), follow=True
    )
    assert "doesn’t exist" in make.words(response)
