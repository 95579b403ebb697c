"""The ten invariants, each a watcher: a generator that is sent (time, thing) and raises AssertionError.

It remembers what it needs of the things before; a `Glance` comes at the end of every step.
"""

from conversations.tests.machine.invariants.answers import (
    invariant_05_every_call_is_answered_and_every_turn_ends,
    invariant_06_one_response_at_a_time,
)
from conversations.tests.machine.invariants.bounds import (
    invariant_07_bounds_hold,
    invariant_08_the_reader_never_waits,
)
from conversations.tests.machine.invariants.record import (
    invariant_09_the_audit_is_complete,
    invariant_10_the_record_is_what_was_heard,
)
from conversations.tests.machine.invariants.secrecy import invariant_01_one_caller, invariant_02_no_leak
from conversations.tests.machine.invariants.staleness import (
    invariant_03_stale_is_dropped,
    invariant_04_cancelled_means_cancelled,
)

INVARIANTS = (
    invariant_01_one_caller,
    invariant_02_no_leak,
    invariant_03_stale_is_dropped,
    invariant_04_cancelled_means_cancelled,
    invariant_05_every_call_is_answered_and_every_turn_ends,
    invariant_06_one_response_at_a_time,
    invariant_07_bounds_hold,
    invariant_08_the_reader_never_waits,
    invariant_09_the_audit_is_complete,
    invariant_10_the_record_is_what_was_heard,
)
