"""Operators approve changes of tools; viewers see them."""

from django.db import migrations

PERMISSIONS = {
    "viewer": [("view_tooldeclaration", "Can view tool declaration")],
    "auditor": [("view_tooldeclaration", "Can view tool declaration")],
    "operator": [
        ("view_tooldeclaration", "Can view tool declaration"),
        ("approve_tooldeclaration", "Can approve a change of a tool"),
    ],
}


def grant(apps, schema_editor):
    # Django makes permissions only after the last migration, so the ones needed here are made here.
    content_types = apps.get_model("contenttypes", "ContentType").objects
    content_type, _ = content_types.get_or_create(app_label="tools", model="tooldeclaration")
    permissions = apps.get_model("auth", "Permission").objects
    for name, table in PERMISSIONS.items():
        group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=name)
        for codename, label in table:
            permission, _ = permissions.get_or_create(
                content_type=content_type, codename=codename, defaults={"name": label}
            )
            group.permissions.add(permission)


class Migration(migrations.Migration):

    dependencies = [
        ("conversations", "0003_call_approved"),
        ("tools", "0003_tool_declarations"),
    ]

    operations = [migrations.RunPython(grant, migrations.RunPython.noop)]
