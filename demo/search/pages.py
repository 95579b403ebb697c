"""The web of the demo: made-up pages at addresses that exist nowhere."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """What a search engine knows of a page."""

    title: str
    link: str
    snippet: str
    date: str = ""


PAGES = (
    Page(
        "Dissolved oxygen in sea cages: what the numbers mean",
        "https://aquaculture-notes.example/oxygen-in-sea-cages",
        "Below six milligrams per liter fish eat less, below four they are in danger. Oxygen falls at night, "
        "in warm water and when the current stops.",
        "Jun 3, 2026",
    ),
    Page(
        "Sea lice: counting, limits and treatment",
        "https://fishhealth.example/sea-lice",
        "Most countries ask for a weekly count of sea lice in each cage. Cleaner fish, fresh water and laser "
        "light keep the number of sea lice down without medicine.",
        "May 18, 2026",
    ),
    Page(
        "Price of salmon this week",
        "https://seafood-market.example/salmon-price",
        "Fresh salmon sold for seven euros ninety a kilo on average this week, three percent more "
        "than last week.",
        "Aug 3, 2026",
    ),
    Page(
        "Price of fish feed climbs with soy and fish meal",
        "https://seafood-market.example/feed-price",
        "Fish feed costs eight percent more than a year ago. Producers blame the price of fish meal and soy.",
        "Jul 22, 2026",
    ),
    Page(
        "Weather at the coast: three days ahead",
        "https://coast-weather.example/forecast",
        "Tomorrow light wind from the north, waves of half a meter, nineteen degrees. Rain is "
        "expected on the third day.",
        "Aug 5, 2026",
    ),
    Page(
        "Red tide and algae bloom warning for the north coast",
        "https://coast-weather.example/algae-bloom",
        "Satellites show an algae bloom twenty kilometers off the north coast. Farms should watch "
        "oxygen at dawn.",
        "Aug 4, 2026",
    ),
    Page(
        "Tides: high and low water",
        "https://coast-weather.example/tides",
        "High water at six and at eighteen thirty, low water shortly after noon. Spring tide on Saturday.",
        "Aug 5, 2026",
    ),
    Page(
        "New rules for fish farms: what changes next year",
        "https://maritime-law.example/fish-farm-rules",
        "From January farms must report escapes within a day and publish their use of medicine every "
        "quarter.",
        "Jul 9, 2026",
    ),
    Page(
        "What is aquaculture? A short introduction",
        "https://aquaculture-notes.example/what-is-aquaculture",
        "Aquaculture is the farming of fish, mussels and algae. More than half of the fish that "
        "people eat is farmed.",
    ),
    Page(
        "Sea bream and sea bass: growth from egg to market",
        "https://aquaculture-notes.example/bream-and-bass",
        "Sea bream reaches four hundred grams in sixteen months, sea bass in eighteen, at twenty "
        "degrees of water.",
        "Mar 11, 2026",
    ),
    Page(
        "Fair for aquaculture and fisheries opens in autumn",
        "https://seafood-market.example/fair",
        "Four hundred exhibitors show sensors, nets and feeding robots at the fair for aquaculture in"
        " October.",
        "Jul 30, 2026",
    ),
    Page(
        "Grilled sea bream with lemon: a recipe",
        "https://kitchen.example/grilled-sea-bream",
        "Score the sea bream, rub it with oil and salt, grill it six minutes a side, and serve it "
        "with lemon.",
    ),
)
