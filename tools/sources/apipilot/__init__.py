"""Tools of an ApiPilot bridge: a list and an execution over plain HTTP."""

from tools.sources.apipilot.envelope import BridgeFailure
from tools.sources.apipilot.source import ApiPilotSource, Credential, Endpoints

__all__ = ["ApiPilotSource", "BridgeFailure", "Credential", "Endpoints"]
