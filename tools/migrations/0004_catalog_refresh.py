"""A catalog keeps what was offered before; operators may have it asked for anew."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tools', '0003_tool_declarations'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='catalogsnapshot',
            options={'default_permissions': ('view',), 'ordering': ['-fetched_at'], 'permissions': [('refresh_catalogsnapshot', 'Can have the tools asked for anew')]},
        ),
        migrations.AddField(
            model_name='catalogsnapshot',
            name='changed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='catalogsnapshot',
            name='previous_tools',
            field=models.JSONField(null=True),
        ),
    ]
