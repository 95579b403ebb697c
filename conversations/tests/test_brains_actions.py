"""Actions are named by their class, told in JSON by their aliases, and hold nothing that is not declared."""

import datetime

import pytest
from pydantic import Field, ValidationError

from conversations.brains import Action
from conversations.brains.rtvi import ui_command


class OpenReport(Action):
    report_id: str = Field(alias="reportId")
    day: datetime.date | None = None


class ShowHTTPStatus(Action):
    pass


class Toast2(Action):
    pass


@pytest.mark.parametrize(
    ("action", "command"),
    [(OpenReport, "open_report"), (ShowHTTPStatus, "show_http_status"), (Toast2, "toast2")],
)
def test_the_command_is_the_class_s_name_in_snake_case(action, command):
    assert action.command() == command


def test_an_action_is_told_in_json_by_its_aliases_in_rtvi_s_envelope():
    action = OpenReport(report_id="r-1", day=datetime.date(2026, 11, 30))
    assert ui_command(action, "u-1") == {
        "label": "rtvi-ai",
        "type": "ui-command",
        "id": "u-1",
        "data": {"command": "open_report", "payload": {"reportId": "r-1", "day": "2026-11-30"}},
    }


def test_a_field_that_is_not_declared_is_refused():
    with pytest.raises(ValidationError):
        OpenReport(report_id="r-1", report="r-2")
