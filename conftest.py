"""What every test stands on: the embedded defaults, whatever the machine's environment says."""

import os

for _name in [name for name in os.environ if name.startswith("S2S_")]:
    del os.environ[_name]
os.environ["SECRET_KEY"] = "tests-only-" + "x" * 50
os.environ["DEBUG"] = "false"
os.environ.setdefault("LOG_LEVEL", "WARNING")
