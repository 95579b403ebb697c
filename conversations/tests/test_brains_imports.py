"""What the adapters need is imported where it is wanted, and what is missing is told with the mend."""

import subprocess
import sys

import pytest


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("module", "brain"), [("gemini", "GeminiBrain"), ("gemini_interactions", "GeminiInteractionsBrain")]
)
def test_a_missing_google_genai_is_told_with_the_mend(module, brain):
    ended = run(f"import sys; sys.modules['google.genai'] = None; import conversations.brains.{module}")
    assert ended.returncode == 1
    assert f"{brain} needs google-genai: pip install -r requirements-gemini.txt" in ended.stderr


def test_a_process_without_such_a_brain_imports_no_provider_s_package():
    program = """
import sys, conversations.brains
assert not {"openai", "google.genai"} & set(sys.modules)
from conversations.brains import OpenAIBrain
assert OpenAIBrain.__module__ == "conversations.brains.openai"
"""
    ended = run(program)
    assert ended.returncode == 0, ended.stderr
