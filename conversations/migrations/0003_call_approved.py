from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0002_operator_permissions")]

    operations = [
        migrations.AddField(
            model_name="toolcall",
            name="approved_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
