"""What tests of the journal write, and a store that lets them look."""

import threading
import time
import uuid

from conversations import rows
from conversations.core.records import TurnOpened


def turn_opened(conversation, index=1):
    return TurnOpened(str(uuid.uuid4()), str(conversation.pk), index, "voice", time.time())


class Gate:
    """A store that waits until it is let through, and remembers what came."""

    def __init__(self, store=rows.write):
        self.store, self.batches = store, []
        self.entered, self.open = threading.Event(), threading.Event()

    def __call__(self, records):
        self.batches.append(list(records))
        self.entered.set()
        assert self.open.wait(10)
        return self.store(records)
