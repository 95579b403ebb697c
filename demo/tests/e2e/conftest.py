"""The running demo of the end-to-end tests, one for each way of picking tools."""

import pytest

from demo.tests.e2e.stack import running_stack


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One running demo for a module; tools are picked natively."""
    with running_stack(tmp_path_factory.mktemp("demo")) as stack:
        yield stack


@pytest.fixture(scope="module")
def shared_marker(tmp_path_factory):
    """One running demo for a module; tools are picked by marker."""
    with running_stack(tmp_path_factory.mktemp("marker"), S2S_TOOL_SELECTION="marker") as stack:
        yield stack


@pytest.fixture
def stack(shared):
    yield from fresh(shared)


@pytest.fixture
def marker_stack(shared_marker):
    yield from fresh(shared_marker)


def fresh(stack):
    """Without the faults and frames of the test before."""
    stack.portal.reset()
    stack.web.reset()
    stack.frames.clear()
    yield stack
    stack.portal.faults.release()
    stack.web.faults.release()
