"""Every logger at DEBUG, whatever its configuration: what they said, and what we wrote of it."""

import contextlib
import io
import json
import logging

from vocero.logs import Strangers, logging_config


class Ears(logging.Handler):
    """`raw` is what every library said, `lines` what Vocero's own handler makes of it."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.stream = io.StringIO()
        line = logging_config("DEBUG")["formatters"]["line"]
        self.ours = logging.StreamHandler(self.stream)
        self.ours.setFormatter(line["()"](**{name: value for name, value in line.items() if name != "()"}))
        self.ours.addFilter(Strangers())
        self.raw = []

    def emit(self, record):
        # Our own lines are judged as they are written; a structlog event is no text yet.
        if isinstance(record.msg, str):
            self.raw.append(f"{record.name} {record.getMessage()}")

    @property
    def text(self):
        return self.stream.getvalue()

    @property
    def lines(self):
        return [json.loads(line) for line in self.text.splitlines()]


@contextlib.contextmanager
def all_ears():
    """Whoever exists by now speaks up; who comes later inherits that."""
    ears = Ears()
    loggers = [
        logging.root,
        *(one for one in logging.root.manager.loggerDict.values() if hasattr(one, "level")),
    ]
    before = [(one, one.level, one.propagate, one.disabled) for one in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        logger.propagate, logger.disabled = True, False
    logging.root.addHandler(ears.ours)
    logging.root.addHandler(ears)
    try:
        yield ears
    finally:
        logging.root.removeHandler(ears)
        logging.root.removeHandler(ears.ours)
        for logger, level, propagate, disabled in before:
            logger.setLevel(level)
            logger.propagate, logger.disabled = propagate, disabled
