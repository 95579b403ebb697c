"""The read-only admin that every list of rows stands on, and how it writes times and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import PAGE_VAR
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from tools.paging import BoundedPaginator, Further, further

SHOWN_CHARS = 40_000
_BEYOND_ASCII = re.compile(r"[^\t\n -~]")
# They show nothing, and can spell words all the same; the one for coloured signs (FE0F) is common.
_SELECTOR = re.compile("[\ufe00-\ufe0e\U000e0100-\U000e01ef]")


def pretty(value: object, limit: int = SHOWN_CHARS) -> str:
    """Indented JSON of at most `limit` characters; the last line says how much is missing."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    if len(text) <= limit:
        return text
    return f"{text[:limit]}{_missing(len(text) - limit)}"


def pretty_text(text: str, limit: int = SHOWN_CHARS) -> str:
    """The text, indented where all of it is JSON; of at most `limit` characters, and it says so."""
    try:
        return pretty(json.loads(text), limit)
    except ValueError:
        return text if len(text) <= limit else f"{text[:limit]}{_missing(len(text) - limit)}"


def _missing(count: int) -> str:
    return f"\n… {count:,} more characters are not shown here."


def visible(text: str) -> str:
    """The text with what shows nothing written out: an operator reads all that a model reads."""
    return _BEYOND_ASCII.sub(_seen, text)


def _seen(found: re.Match[str]) -> str:
    sign = found[0]
    return sign if sign.isprintable() and not _SELECTOR.match(sign) else json.dumps(sign)[1:-1]


def moment(at: datetime | None) -> str:
    """`30 Nov 10:42:07`, in UTC as all times of the admin; another year than this one is named."""
    if at is None:
        return "—"
    local = timezone.localtime(at)
    return (
        f"{local:%d %b %H:%M:%S}" if local.year == timezone.localtime().year else f"{local:%d %b %Y %H:%M:%S}"
    )


def stamp(at: datetime | None) -> str:
    """The moment as an element, from which a script can tell the reader's own time."""
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), moment(at)) if at else "—"


class RowList(ChangeList):
    """A list whose extra columns cost something only for the rows that are shown."""

    result_list: Any
    further: Further | None = None
    further_url = ""

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str] | None = None
    ) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.model_admin.listed(super().get_queryset(request, exclude_parameters))
        return rows

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = self.model_admin.completed(list(self.result_list))
        if not self.query and not self.has_active_filters:
            self.full_result_count = self.result_count
        pages = self.paginator
        if isinstance(pages, BoundedPaginator) and pages.more and self.page_num == pages.num_pages:
            self.further = further(self.queryset.query.order_by, self.result_list[-1])
        if self.further:
            there = {self.further.parameter: self.further.value}
            self.further_url = self.get_query_string(there, remove=[PAGE_VAR])


class ReadOnlyAdmin(ModelAdmin):
    """A list and a page for each row, both to look at; `detail_template` shows what `detail` returns."""

    detail_template = ""
    empty_words = "Nothing here yet."
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # One count per choice would read the whole table.
    list_fullwidth = True
    list_per_page = 25
    paginator = BoundedPaginator
    list_max_show_all = 25

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only what the filters ask for; `?excerpt__contains=` would tell what somebody may not read."""
        return lookup.partition("__")[0] in {filter_parameter(each) for each in self.list_filter}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RowList]:
        return RowList

    def listed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """The rows of the list with what its columns need."""
        return rows

    def completed(self, page: list[Any]) -> list[Any]:
        """The rows of one page with what is asked for all of them at once; a skipped row costs nothing."""
        return page

    def detail(self, request: HttpRequest, obj: Any) -> Mapping[str, object]:
        """What the template needs besides `original`."""
        return {}

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page of one row; raises PermissionDenied, and leads elsewhere where there is no such row."""
        if object_id is None or request.method != "GET" or not self.has_view_permission(request):
            raise PermissionDenied
        obj = self.get_object(request, unquote(object_id))
        if obj is None:
            leave: HttpResponse = self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
            return leave
        context = {"original": obj, "back": self.get_preserved_filters(request), **self.detail(request, obj)}
        return self.page(request, self.detail_template, str(obj), context)

    def page(
        self, request: HttpRequest, template: str, title: str, context: Mapping[str, object]
    ) -> TemplateResponse:
        """A page of this admin around a template of ours."""
        request.current_app = self.admin_site.name
        shell = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        return TemplateResponse(request, template, {**shell, **context})


def filter_parameter(declared: object) -> str:
    """The parameter of one entry of `list_filter`."""
    if isinstance(declared, type) and issubclass(declared, SimpleListFilter):
        return declared.parameter_name or ""
    return str(declared[0] if isinstance(declared, tuple) else declared)
