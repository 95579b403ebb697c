"""All ten invariants hold, in whatever order callers, services, tools, browsers and operators act."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from conversations.tests.core_play import PROFILE, PROFILES
from conversations.tests.machine.calls import CallMachine
from conversations.tests.machine.queues import make_small

STEPS = 50
EXAMPLES = 70
NIGHTLY_STEPS = 100_000


def test_whatever_happens_all_ten_invariants_hold(monkeypatch):
    make_small(monkeypatch)
    nightly = PROFILE is PROFILES["nightly"]
    everything = settings(
        PROFILE,
        max_examples=NIGHTLY_STEPS // STEPS if nightly else EXAMPLES,
        stateful_step_count=STEPS,
        suppress_health_check=list(HealthCheck),
        # To make a failure short takes minutes: the nightly run has them.
        phases=[phase for phase in Phase if nightly or phase is not Phase.shrink],
        print_blob=True,
    )
    run_state_machine_as_test(CallMachine, settings=everything)
