"""Who may call, the centers with their cages, and what is measured in each cage."""

from demo.aquaportal.data.records import Caller, Center, Metric

NORTH = "north center"
SOUTH = "south center"
EAST = "east center"

CENTERS = (
    Center(NORTH, (1, 2, 3)),
    Center(SOUTH, (4, 5, 6)),
    Center(EAST, (7, 8)),
)
EVERY_CENTER = tuple(center.name for center in CENTERS)

# +34600000009 is not here: the backend does not know that phone.
CALLERS = (
    Caller("+34600000001", "usr-administrator", "Ana Torres", EVERY_CENTER),
    Caller("+34600000002", "usr-north-reports", "Bruno Lago", (NORTH,)),
    Caller("+34600000003", "usr-unassigned", "Clara Ruiz", ()),
    Caller("+34600000008", "usr-expiring", "Diego Soto", EVERY_CENTER, token_expires_in_call=True),
)

# A drift, in units a day, goes on for this many days; before them the metric was steady.
DRIFT_DAYS = 10

# How the last thirty days stand to today, newest first, in parts of a metric's swing.
DAYS = (
    *(0.0, 0.4, -0.2, 0.6, 0.1, -0.5, 0.3, 0.8, -0.1, 0.2),
    *(-0.6, 0.5, 0.9, 0.0, -0.3, 0.4, -0.8, 0.2, 0.7, -0.4),
    *(0.1, 1.0, -0.7, 0.3, -0.2, 0.6, -0.9, 0.5, 0.0, -0.1),
)

METRICS = (
    Metric(
        name="oxygen",
        label="oxygen level",
        unit="milligrams per liter",
        decimals=1,
        today={1: 9.1, 2: 8.9, 3: 9.3, 4: 8.2, 5: 6.4, 6: 8.6, 7: 9.0, 8: 8.8},
        swing=0.4,
        drift={5: 0.25},
    ),
    Metric(
        name="temperature",
        label="water temperature",
        unit="degrees Celsius",
        decimals=1,
        today={1: 11.2, 2: 11.4, 3: 11.1, 4: 13.6, 5: 13.9, 6: 13.5, 7: 12.3, 8: 12.1},
        swing=0.3,
        drift={4: -0.05, 5: -0.05, 6: -0.05},
    ),
    Metric(
        name="salinity",
        label="salinity",
        unit="parts per thousand",
        decimals=1,
        today={1: 33.8, 2: 33.7, 3: 33.9, 4: 34.6, 5: 34.5, 6: 34.7, 7: 34.1, 8: 34.2},
        swing=0.2,
        drift={},
    ),
    Metric(
        name="mortality",
        label="mortality",
        unit="fish a day",
        decimals=0,
        today={1: 12, 2: 19, 3: 14, 4: 17, 5: 46, 6: 15, 7: 18, 8: 11},
        swing=5,
        drift={5: -4},
    ),
    Metric(
        name="sea_lice",
        label="sea lice count",
        unit="adult lice per fish",
        decimals=2,
        today={1: 0.21, 2: 0.32, 3: 0.14, 4: 0.38, 5: 0.41, 6: 0.27, 7: 0.62, 8: 0.19},
        swing=0.08,
        drift={7: -0.03},
    ),
    Metric(
        name="biomass",
        label="biomass",
        unit="tonnes",
        decimals=0,
        today={1: 212, 2: 198, 3: 225, 4: 184, 5: 176, 6: 190, 7: 241, 8: 238},
        swing=1,
        drift=dict.fromkeys(range(1, 9), -1.5),
    ),
    Metric(
        name="feed",
        label="feed",
        unit="kilograms a day",
        decimals=0,
        today={1: 1850, 2: 1720, 3: 1930, 4: 1610, 5: 980, 6: 1640, 7: 2080, 8: 2040},
        swing=60,
        drift={5: 90},
    ),
)
