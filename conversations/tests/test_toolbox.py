"""Where a conversation's tools live, and how the operator's addresses are watched."""

from conversations import toolbox
from tools.addresses import Pinned


async def test_every_source_of_a_process_knows_which_names_were_public_case_175(configure):
    first, second = toolbox.connect()(lambda: None), toolbox.connect()(lambda: None)
    assert isinstance(first, Pinned)
    assert first._were_public is second._were_public
    assert not first._allow_private
    configure(allow_private_addresses=True)
    assert toolbox.connect()(lambda: None)._allow_private
    assert toolbox.bridge().connect.keywords["allow_private"]
