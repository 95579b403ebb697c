"""Answers about podcasts, their episodes and transcripts."""

import re

from demo.aquaportal.access import Refusal
from demo.aquaportal.answers.question import Answer, Question, page_of
from demo.aquaportal.answers.wording import counted, joined, span, spoken_day
from demo.aquaportal.data.podcasts import PODCASTS
from demo.aquaportal.data.records import Episode, Podcast

DEFAULT_PARAGRAPHS = 2


def list_podcasts(question: Question) -> Answer:
    """One page of the podcasts, the one with the newest episode first."""
    shown, fields = page_of(PODCASTS, question)
    names = [f"{podcast.title}, with {counted(len(podcast.episodes), 'episode')}" for podcast in shown]
    latest = PODCASTS[0].episodes[0]
    speech = "There are no more podcasts."
    if shown:
        start = counted(len(PODCASTS), "podcast")
        if len(shown) < len(PODCASTS):
            start = span("Podcast", fields["offset"], len(shown), len(PODCASTS))
        when = spoken_day(question.day(latest.days_ago), question.today)
        speech = f"{start}: {'; '.join(names)}. The latest episode is {latest.title}, published {when}."
    podcasts = [
        {
            "podcast_id": podcast.podcast_id,
            "title": podcast.title,
            "description": podcast.description,
            "episode_count": len(podcast.episodes),
            "latest_episode": _entry(question, podcast.episodes[0]),
        }
        for podcast in shown
    ]
    return {"speech": speech, "podcasts": podcasts, **fields}


def get_podcast(question: Question) -> Answer:
    """One podcast with its episodes, newest first."""
    podcast = _podcast(question.request.get("podcast_id"), question.request.get("title"))
    names = [f"{episode.title}, episode {episode.number}" for episode in podcast.episodes]
    count = counted(len(podcast.episodes), "episode")
    return {
        "speech": f"{podcast.title}: {podcast.description} It has {count}: {joined(names)}.",
        "podcast_id": podcast.podcast_id,
        "title": podcast.title,
        "description": podcast.description,
        "episodes": [_entry(question, episode) for episode in podcast.episodes],
    }


def read_podcast_transcript(question: Question) -> Answer:
    """A few paragraphs of one episode's transcript."""
    podcast, episode = _episode(question)
    shown, fields = page_of(episode.paragraphs, question, DEFAULT_PARAGRAPHS)
    speech = " ".join(shown) if shown else "The transcript ends here."
    if not fields["offset"]:
        speech = f"{podcast.title}, episode {episode.number}, {episode.title}. {speech}"
    return {
        "speech": speech,
        "podcast_title": podcast.title,
        "episode": _entry(question, episode),
        "paragraphs": shown,
        **fields,
    }


def _entry(question: Question, episode: Episode) -> Answer:
    return {
        "episode_id": episode.episode_id,
        "number": episode.number,
        "title": episode.title,
        "date": question.day(episode.days_ago).isoformat(),
        "minutes": episode.minutes,
        "summary": episode.summary,
    }


def _podcast(podcast_id: str | None, title: str | None) -> Podcast:
    if podcast_id is not None:
        found = next((podcast for podcast in PODCASTS if podcast.podcast_id == podcast_id), None)
    elif title is not None:
        best = max(PODCASTS, key=lambda podcast: _likeness(podcast.title, title))
        found = best if _likeness(best.title, title) else None
    else:
        found = PODCASTS[0]
    if found is None:
        raise Refusal("There is no such podcast.")
    return found


def _likeness(title: str, text: str) -> int:
    """How many telling words of a title occur in what was said."""
    said = set(re.findall(r"\w+", text.lower()))
    return len([word for word in title.lower().split() if len(word) > 3 and word in said])


def _episode(question: Question) -> tuple[Podcast, Episode]:
    request = question.request
    if "episode_id" in request:
        found = [(p, e) for p in PODCASTS for e in p.episodes if e.episode_id == request["episode_id"]]
    else:
        podcast = _podcast(None, request.get("podcast_title"))
        number = request.get("episode_number")
        if request.get("latest") or number is None:
            number = podcast.episodes[0].number
        found = [(podcast, episode) for episode in podcast.episodes if episode.number == number]
    if not found:
        raise Refusal("There is no such episode.")
    return found[0]
