"""A cached catalog can only be looked at."""


from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('tools', '0001_initial'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='catalogsnapshot',
            options={'default_permissions': ('view',), 'ordering': ['-fetched_at']},
        ),
    ]
