"""Rows as CSV and JSON, written piece by piece: never more rows in memory than a few hundred."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from import_export.resources import Resource

Pieces = Generator[str, None, None]
CHUNK = 500
TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
# Spreadsheets take a cell that begins so for a formula, in their wide forms too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# Excel takes a file without it for one of another encoding than UTF-8.
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Table:
    """At most so many rows with these columns; `complete` adds what is asked for a chunk of rows at once."""

    columns: type[Resource]
    rows: QuerySet[Any]
    most: int
    complete: Callable[[list[Any]], list[Any]] = lambda chunk: chunk

    def records(self) -> Iterator[list[Mapping[str, Any]]]:
        """The rows in chunks, each as its columns' names and values."""
        columns = self.columns()
        names = columns.get_export_headers()
        rows = self.rows[: self.most].iterator(chunk_size=CHUNK)
        while chunk := list(islice(rows, CHUNK)):
            values = (columns.export_resource(row) for row in self.complete(chunk))
            yield [dict(zip(names, each, strict=True)) for each in values]

    def goes_on(self) -> bool:
        """Whether there are more rows than it takes."""
        return self.rows[self.most : self.most + 1].exists()


def cell(value: Any) -> str:
    """A value as a cell of CSV, which no spreadsheet takes for a formula."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"'{text}" if not number and text.lstrip(" ").startswith(_FORMULA) else text


def csv_pieces(table: Table) -> Pieces:
    """The table with a line of names above it."""
    yield _BYTE_ORDER_MARK + _lines([table.columns().get_export_headers()])
    for records in table.records():
        yield _lines([map(cell, record.values()) for record in records])


def _lines(rows: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def json_pieces(head: Mapping[str, Any], tables: Mapping[str, Table]) -> Pieces:
    """An object: what `head` says, then each table under its name, and the names of those that were cut."""
    yield "{" + ",\n".join(f"{_json(name)}: {_json(value)}" for name, value in head.items())
    for name, table in tables.items():
        yield f",\n{_json(name)}: ["
        separator = "\n"
        for records in table.records():
            yield separator + ",\n".join(map(_json, records))
            separator = ",\n"
        yield "]"
    yield f",\n{_json('cut')}: {_json([name for name, table in tables.items() if table.goes_on()])}}}\n"


def _json(value: Any) -> str:
    """JSON that stays data wherever it is pasted."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


async def unhurried(pieces: Pieces) -> AsyncIterator[str]:
    """The pieces, each made in the request's own thread: the loop has calls to serve."""

    @sync_to_async
    def step() -> str | None:
        return next(pieces, None)

    try:
        while (piece := await step()) is not None:
            yield piece
    finally:
        await sync_to_async(pieces.close)()


def download(pieces: Pieces, name: str, kind: str) -> StreamingHttpResponse:
    """The pieces as a file to keep; `kind` is `csv` or `json`."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(unhurried(pieces), content_type=TYPES[kind], headers=headers)
