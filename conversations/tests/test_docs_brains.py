"""The tutorial on brains: its blocks are written to files in their order, and its tests pass."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "brains.md"
BLOCK = re.compile(r"^```python\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_BLOCK = re.compile(r"^```python$", re.MULTILINE)
TEST = re.compile(r"^ *async def (test_\w+)", re.MULTILINE)
OPTIONS = ["-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]


def test_a_reader_who_writes_the_blocks_down_has_brains_that_pass_their_tests(tmp_path):
    text = PAGE.read_text()
    blocks = BLOCK.findall(text)
    assert len(blocks) == len(ANY_BLOCK.findall(text)), "a block does not begin with the name of its file"
    # They stand beside manage.py, and so does this.
    shutil.copy(ROOT / "conftest.py", tmp_path)
    for name, code in blocks:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as kept:
            kept.write(code)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    passed = re.search(r"(\d+) passed", run.stdout)
    assert int(passed.group(1)) >= sum(len(TEST.findall(code)) for _, code in blocks), run.stdout
    assert " skipped" not in run.stdout
