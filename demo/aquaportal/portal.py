"""The parts of one running portal, and what they know of the request that is being served."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

from starlette.types import Scope

from demo.aquaportal.accounts import Accounts
from demo.aquaportal.data.records import Caller
from demo.aquaportal.faults import Faults
from demo.aquaportal.journal import Entry, Journal
from demo.aquaportal.news import News

ENTRY = "aquaportal.entry"
CALLER = "aquaportal.caller"


def cut_nothing(_client: tuple[str, int], _reset: bool) -> None:
    """The connections of a portal that no server runs yet."""


@dataclass(slots=True)
class Portal:
    """All that one portal knows; `cut` ends a client's connection (reset, or flushed first)."""

    accounts: Accounts = field(default_factory=Accounts)
    faults: Faults = field(default_factory=Faults)
    journal: Journal = field(default_factory=Journal)
    news: News = field(default_factory=News)
    today: Callable[[], date] = date.today
    cut: Callable[[tuple[str, int], bool], None] = cut_nothing


def entry_of(scope: Scope) -> Entry:
    """The journal's entry of this request."""
    entry: Entry = scope[ENTRY]
    return entry


def caller_of(scope: Scope) -> Caller:
    """The caller whose token came with this request."""
    caller: Caller = scope[CALLER]
    return caller
