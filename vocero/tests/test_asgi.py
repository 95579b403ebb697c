"""What a server loads: it leaves little to look through while calls are live."""

import os
import subprocess
import sys

LOADS = "import vocero.asgi, gc; print(gc.get_freeze_count(), len(gc.get_objects()))"


def test_what_start_up_made_is_not_looked_through_again():
    loaded = subprocess.run(
        [sys.executable, "-c", LOADS], env=dict(os.environ), capture_output=True, check=True
    )
    kept, looked_through = map(int, loaded.stdout.split()[-2:])
    assert looked_through < kept / 10
