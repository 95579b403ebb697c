"""What the indexes of 0010 made superfluous."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('conversations', '0012_more_list_indexes'),
    ]

    operations = [
        migrations.AlterField(
            model_name='toolcall',
            name='conversation',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='tool_calls', to='conversations.conversation'),
        ),
        migrations.AlterField(
            model_name='toolcall',
            name='name',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AlterField(
            model_name='toolcall',
            name='turn',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='tool_calls', to='conversations.turn'),
        ),
        migrations.AlterField(
            model_name='turn',
            name='conversation',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='conversations.conversation'),
        ),
    ]
