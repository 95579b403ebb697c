"""The bench measures what it says: every part runs with tiny counts. Nothing here asserts a time."""

import json
import re
import subprocess
import sys

import pytest

from bench import frames
from bench.__main__ import ALONE, PARTS, parsed_arguments
from bench.processes import ROOT
from bench.report import FULL, QUICK, Part, document, in_turns, printed, ratio, spread, times

LIMIT = 300
TABLES = (
    "Relayed messages",
    "Live sessions",
    "Memory",
    "A slow query",
    "Tool turn and first sound",
    "Journal",
    "Marker parser",
    "Arguments",
    "The admin over many rows",
)


@pytest.mark.bench
def test_every_part_runs_and_tells_its_figures_of_every_variant():
    command = [sys.executable, "-m", "bench", "--quick"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    for title in TABLES:
        assert f"\n{title}\nfigure" in ran.stdout
    for line in (
        "CPU a message, 12,288 bytes: Vocero on Daphne",
        "CPU a message, 200 bytes: bytes through",
        "Added latency a frame, 1,400 bytes: TCP pump",
        "Browser that does not read: Vocero on uvicorn",
        "Tool turn, last event of the call to response.create",
        "A write through the journal, SQLite",
        "SQLite, toolcall: search, caller",
    ):
        assert line in ran.stdout
    # Something was answered: a message that was never relayed would cost nothing, or everything.
    costs = re.findall(r"CPU a message, [\d,]+ bytes: Vocero on \w+ +([\d.]+) µs", ran.stdout)
    assert len(costs) == 9
    assert all(0 < float(cost) < 100_000 for cost in costs)


@pytest.mark.parametrize("load", frames.LOADS, ids=lambda load: load.name)
def test_frames_have_exactly_their_size_and_are_events(load):
    asked, answered = frames.asked(load.size), frames.answered(load, 7)
    assert len(asked) == len(answered) == load.size
    assert json.loads(asked)["type"] == "input_audio_buffer.append"
    assert json.loads(answered)["response_id"] == json.loads(frames.opening(7)[0])["response"]["id"]


def test_an_answer_ends_with_the_words_that_its_pieces_said():
    load = frames.LOADS[0]
    said = "Well, " + json.loads(frames.answered(load, 1))["delta"] * 3
    assert frames.text_of(load, 3) == said
    done = json.loads(frames.ending(1, said)[-1])
    assert done["response"]["output"][0]["content"][0]["transcript"] == said


def test_variants_take_turns_and_each_begins_as_often():
    order = []
    in_turns(2, ["a", "b", "c"], order.append)
    assert order == ["a", "b", "c", "c", "b", "a"]


def test_ratios_are_of_the_same_round():
    assert ratio([2.0, 9.0], [1.0, 3.0]) == [2.0, 3.0]
    assert times([2.0, 3.0, 2.5]) == "2.50× (2.00–3.00)"
    assert spread([1.0, 3.0, 2.0], "ms") == "2.0 ms (1.0–3.0)"


def test_the_document_says_how_many_targets_are_met_and_which_are_not():
    part = Part("Parts", "What it is.")
    part.add("good", "1 ms", "0.5× of that", "≤ 2 ms", True)
    part.add("bad", "3 ms", "", "≤ 2 ms", False)
    part.add("known", "4 ms", "")
    told = document([part], "make bench")
    assert "Of 2 targets 1 are met" in " ".join(told.split())
    assert "| good | 1 ms | 0.5× of that | ≤ 2 ms | yes |" in told
    assert "| bad | 3 ms |  | ≤ 2 ms | **no** |" in told
    assert "good" in printed(part)


def test_parts_may_be_asked_for_by_name():
    assert parsed_arguments(["--quick", "parser", "relay"]).parts == ["parser", "relay"]
    assert set(ALONE) < set(PARTS)


def test_a_quick_run_counts_little():
    assert QUICK.count(1_000) == 50
    assert FULL.count(1_000) == 1_000
