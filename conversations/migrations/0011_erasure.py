"""Callers may be erased, by operators."""

from django.db import migrations, models


def grant(apps, schema_editor):
    # Django makes permissions only after the last migration, so the one needed here is made here.
    content_types = apps.get_model("contenttypes", "ContentType").objects
    content_type, _ = content_types.get_or_create(app_label="conversations", model="conversation")
    permission, _ = apps.get_model("auth", "Permission").objects.get_or_create(
        content_type=content_type,
        codename="erase_caller",
        defaults={"name": "Can erase what is known of a caller"},
    )
    operators, _ = apps.get_model("auth", "Group").objects.get_or_create(name="operator")
    operators.permissions.add(permission)


class Migration(migrations.Migration):

    dependencies = [
        ('conversations', '0010_list_indexes'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='conversation',
            options={'default_permissions': ('view',), 'ordering': ['-opened_at'], 'permissions': [('read_transcripts', 'Can read what was said'), ('end_conversation', 'Can end a conversation'), ('erase_token', 'Can erase session tokens'), ('run_cleanup', 'Can run the cleanup'), ('erase_caller', 'Can erase what is known of a caller')]},
        ),
        migrations.AddField(
            model_name='conversation',
            name='erased_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='conversation',
            name='erasure',
            field=models.CharField(blank=True, choices=[('words', 'Words'), ('rows', 'Rows')], max_length=5),
        ),
        migrations.RunPython(grant, migrations.RunPython.noop),
    ]
