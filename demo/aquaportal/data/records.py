"""The shapes of what the farm's data holds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a phone; `centers` are the names of the centers assigned to them."""

    phone: str
    user_id: str
    name: str
    centers: tuple[str, ...]
    token_expires_in_call: bool = False


@dataclass(frozen=True, slots=True)
class Center:
    """A site with its cages; a cage number occurs in one center only."""

    name: str
    cages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """What is measured once a day: by cage, its value `today` and its `drift` for each day further back."""

    name: str
    label: str
    unit: str
    decimals: int
    today: dict[int, float]
    swing: float
    drift: dict[int, float]


@dataclass(frozen=True, slots=True)
class Report:
    """A report on one center, written `days_ago`."""

    report_id: str
    center: str
    kind: str
    days_ago: int
    author: str
    summary: str
    findings: tuple[str, ...]
    recommendation: str


@dataclass(frozen=True, slots=True)
class Insight:
    """Something the portal noticed in one cage, `days_ago`."""

    insight_id: str
    center: str
    cage_number: int
    metric: str
    severity: str
    days_ago: int
    text: str


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode of a podcast with its whole transcript."""

    episode_id: str
    number: int
    title: str
    days_ago: int
    minutes: int
    summary: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Podcast:
    """A show; its episodes are kept newest first."""

    podcast_id: str
    title: str
    description: str
    episodes: tuple[Episode, ...]
