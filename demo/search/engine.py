"""Finds pages for a question and answers in the words of Serper's `/search`."""

import re
from collections.abc import Sequence
from typing import Any

from demo.search.pages import PAGES, Page

MOST = 10
_WORD = re.compile(r"[a-z]{3,}")
_EMPTY = frozenset(
    {"the", "and", "for", "with", "what", "which", "when", "where", "who", "how", "are", "was", "has", "have"}
    | {"can", "you", "our", "your", "this", "that", "about", "from", "into", "search", "web", "internet"}
    | {"online", "google", "find", "look", "tell", "please"}
)


def found(query: str, pages: Sequence[Page] = PAGES) -> list[Page]:
    """The pages that share words with the question, those with the most first; a title counts twice."""
    wanted = words(query)
    scored = [
        (2 * len(wanted & words(page.title)) + len(wanted & words(page.snippet)), page) for page in pages
    ]
    ranked = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
    return [page for _, page in ranked]


def words(text: str) -> frozenset[str]:
    """The words of a text that say something, without a plural's ending."""
    return frozenset(word.removesuffix("s") for word in _WORD.findall(text.lower()) if word not in _EMPTY)


def answer(query: str, count: int) -> dict[str, Any]:
    """The body of an answer of at most so many results."""
    return {
        "searchParameters": {"q": query, "type": "search", "num": count, "engine": "google"},
        "organic": [_organic(page, place) for place, page in enumerate(found(query)[:count], 1)],
        "relatedSearches": [],
        "credits": 1,
    }


def _organic(page: Page, place: int) -> dict[str, Any]:
    dated = {"date": page.date} if page.date else {}
    return {"title": page.title, "link": page.link, "snippet": page.snippet, **dated, "position": place}
