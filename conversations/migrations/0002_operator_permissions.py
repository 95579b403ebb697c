"""The permissions of operators, and the three groups that carry them."""

from django.db import migrations

VIEWER = [
    ("conversations", "conversation", "view_conversation", "Can view conversation"),
    ("conversations", "toolcall", "view_toolcall", "Can view tool call"),
    ("tools", "catalogsnapshot", "view_catalogsnapshot", "Can view catalog snapshot"),
]
GROUPS = {
    "viewer": VIEWER,
    "auditor": [
        *VIEWER,
        ("conversations", "conversation", "read_transcripts", "Can read what was said"),
        ("conversations", "toolcall", "read_payloads", "Can read arguments and results"),
    ],
    "operator": [
        *VIEWER,
        ("conversations", "conversation", "end_conversation", "Can end a conversation"),
        ("conversations", "conversation", "run_cleanup", "Can run the cleanup"),
        ("conversations", "phonelink", "view_phonelink", "Can view phone link"),
        ("conversations", "phonelink", "make_phonelink", "Can make a phone link"),
        ("conversations", "apikey", "view_apikey", "Can view API key"),
        ("conversations", "apikey", "manage_apikeys", "Can make and revoke API keys"),
    ],
}


def make_groups(apps, schema_editor):
    # Django makes permissions only after the last migration, so the ones needed here are made here.
    content_types = apps.get_model("contenttypes", "ContentType").objects
    permissions = apps.get_model("auth", "Permission").objects
    groups = apps.get_model("auth", "Group").objects
    for name, table in GROUPS.items():
        group, _ = groups.get_or_create(name=name)
        for app_label, model, codename, label in table:
            content_type, _ = content_types.get_or_create(app_label=app_label, model=model)
            permission, _ = permissions.get_or_create(
                content_type=content_type, codename=codename, defaults={"name": label}
            )
            group.permissions.add(permission)


class Migration(migrations.Migration):

    dependencies = [
        ('conversations', '0001_initial'),
        ('tools', '0002_operator_permissions'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('contenttypes', '0002_remove_content_type_name'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='apikey',
            options={'default_permissions': ('view',), 'ordering': ['name'], 'permissions': [('manage_apikeys', 'Can make and revoke API keys')], 'verbose_name': 'API key'},
        ),
        migrations.AlterModelOptions(
            name='backendtoken',
            options={'default_permissions': ()},
        ),
        migrations.AlterModelOptions(
            name='conversation',
            options={'default_permissions': ('view',), 'ordering': ['-opened_at'], 'permissions': [('read_transcripts', 'Can read what was said'), ('end_conversation', 'Can end a conversation'), ('run_cleanup', 'Can run the cleanup')]},
        ),
        migrations.AlterModelOptions(
            name='phonelink',
            options={'default_permissions': ('view',), 'ordering': ['-made_at'], 'permissions': [('make_phonelink', 'Can make a phone link')]},
        ),
        migrations.AlterModelOptions(
            name='toolcall',
            options={'default_permissions': ('view',), 'ordering': ['-started_at'], 'permissions': [('read_payloads', 'Can read arguments and results')]},
        ),
        migrations.AlterModelOptions(
            name='turn',
            options={'default_permissions': (), 'ordering': ['conversation', 'index']},
        ),
        migrations.AlterModelOptions(
            name='upstreamsession',
            options={'default_permissions': (), 'ordering': ['opened_at']},
        ),
        migrations.RunPython(make_groups, migrations.RunPython.noop),
    ]
