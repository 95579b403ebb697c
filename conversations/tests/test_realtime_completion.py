"""What is kept of an answer to complete it: no more than a caller may hear of it."""

from conversations.core.events import TextDelta
from conversations.core.gate import MOST_TEXT
from conversations.realtime.completion import Completion

PIECE = "x" * 1_000


def test_of_words_without_end_no_more_is_kept_than_a_caller_hears():
    completion = Completion(lambda kind: kind, bare=True)
    said = {"response_id": "r1", "item_id": "a", "delta": PIECE}
    completion.whole({"type": "response.output_text.delta", **said})
    for _ in range(MOST_TEXT // 500):
        assert completion.goes_on(TextDelta("r1", "a", 0, PIECE, "frame"))
    kept = completion._answers["r1"].items["a"].text
    assert MOST_TEXT * 0.9 < len(kept) <= MOST_TEXT
