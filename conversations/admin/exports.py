"""Export of a list: a page that says what the file will hold, the file, and a line in the admin's log.

There is no import: nothing here offers one, and no address takes one.
"""

from __future__ import annotations

from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils import timezone
from import_export.admin import ExportMixin
from import_export.resources import Resource

from conversations.admin import files
from conversations.admin.columns import attributes
from conversations.admin.log import note_about_all
from tools.admin import ReadOnlyAdmin

MOST_ROWS = 50_000
_LOGGED_CHARS = 300


class Exported(ExportMixin, ReadOnlyAdmin):
    """A list that whoever may see it may also take away: the same rows, and no column they may not read."""

    def columns(self, request: HttpRequest) -> type[Resource]:
        """The columns for this reader."""
        raise NotImplementedError

    def has_export_permission(self, request: HttpRequest) -> bool:
        return bool(self.has_view_permission(request))

    def get_export_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_export_queryset(request)
        stored = [
            name for name in attributes(self.columns(request)) if not name.endswith(("_made", "_failed"))
        ]
        return rows.only(*stored)

    def export_action(self, request: HttpRequest) -> HttpResponseBase:
        """Asks for the kind of file first; raises PermissionDenied."""
        if not self.has_export_permission(request):
            raise PermissionDenied
        try:
            rows = self.get_export_queryset(request)
        except IncorrectLookupParameters:
            return HttpResponseRedirect("..")
        table = files.Table(self.columns(request), rows, MOST_ROWS, self.completed)
        kind = request.POST.get("kind", "")
        if kind in files.TYPES:
            return self.file(request, table, kind)
        context = {
            "columns": table.columns().get_export_headers(),
            "most": MOST_ROWS,
            "cut": table.goes_on(),
            "narrowed": bool(request.GET),
            "cancel": f"../?{request.GET.urlencode()}",
        }
        title = f"Export {self.opts.verbose_name_plural}"
        return self.page(request, "admin/export.html", title, context)

    def file(self, request: HttpRequest, table: files.Table, kind: str) -> HttpResponseBase:
        """The file, noted in the log before its first row leaves."""
        what, cut = str(self.opts.verbose_name_plural), table.goes_on()
        rows = f"the first {MOST_ROWS:,} of the {what}" if cut else what
        narrowed = f", narrowed by {request.GET.urlencode()[:_LOGGED_CHARS]}" if request.GET else ""
        columns = ", ".join(table.columns().get_export_headers())
        said = f"Exported {rows} as {kind.upper()}{narrowed}. Columns: {columns}."
        note_about_all(request, self.model, "Export", said)
        name = (
            f"{what.replace(' ', '-')}-{timezone.now():%Y-%m-%d-%H%M}{f'-first-{MOST_ROWS}' if cut else ''}"
        )
        if kind == "csv":
            return files.download(files.csv_pieces(table), name, kind)
        head = {
            "exported_at": timezone.now().isoformat(timespec="seconds"),
            "narrowed_by": request.GET.dict(),
        }
        return files.download(files.json_pieces(head, {"rows": table}), name, kind)
