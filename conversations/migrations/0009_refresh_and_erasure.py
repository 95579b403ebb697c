"""A live call learns that its tools are stale; operators may refresh catalogs and erase session tokens."""

from django.db import migrations, models

PERMISSIONS = [
    ("tools", "catalogsnapshot", "refresh_catalogsnapshot", "Can have the tools asked for anew"),
    ("conversations", "conversation", "erase_token", "Can erase session tokens"),
]


def grant(apps, schema_editor):
    # Django makes permissions only after the last migration, so the ones needed here are made here.
    content_types = apps.get_model("contenttypes", "ContentType").objects
    permissions = apps.get_model("auth", "Permission").objects
    operators, _ = apps.get_model("auth", "Group").objects.get_or_create(name="operator")
    for app_label, model, codename, label in PERMISSIONS:
        content_type, _ = content_types.get_or_create(app_label=app_label, model=model)
        permission, _ = permissions.get_or_create(
            content_type=content_type, codename=codename, defaults={"name": label}
        )
        operators.permissions.add(permission)


class Migration(migrations.Migration):

    dependencies = [
        ('conversations', '0008_turn_rating'),
        ('tools', '0004_catalog_refresh'),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='tools_stale',
            field=models.BooleanField(default=False),
        ),
        migrations.AlterModelOptions(
            name='conversation',
            options={'default_permissions': ('view',), 'ordering': ['-opened_at'], 'permissions': [('read_transcripts', 'Can read what was said'), ('end_conversation', 'Can end a conversation'), ('erase_token', 'Can erase session tokens'), ('run_cleanup', 'Can run the cleanup')]},
        ),
        migrations.RunPython(grant, migrations.RunPython.noop),
    ]
