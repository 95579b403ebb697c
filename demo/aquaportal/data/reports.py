"""The reports and the insights, newest first."""

from demo.aquaportal.data.farm import EAST, NORTH, SOUTH
from demo.aquaportal.data.records import Insight, Report

REPORTS = (
    Report(
        report_id="rep-north-118",
        center=NORTH,
        kind="daily",
        days_ago=0,
        author="Bruno Lago",
        summary="A calm day; all three cages fed to plan.",
        findings=(
            "Oxygen was 8.9 milligrams per liter or more in all cages.",
            "Cage 2 lost 19 fish, the most in the center.",
        ),
        recommendation="Check the net of cage 2 for holes tomorrow morning.",
    ),
    Report(
        report_id="rep-south-231",
        center=SOUTH,
        kind="daily",
        days_ago=0,
        author="Marta Vidal",
        summary="Low oxygen in cage 5; feeding there was cut by half.",
        findings=(
            "Oxygen in cage 5 fell to 6.4 milligrams per liter, while cage 4 held 8.2.",
            "Mortality in cage 5 rose to 46 fish.",
        ),
        recommendation="Keep the aerators of cage 5 running through the night.",
    ),
    Report(
        report_id="rep-north-117",
        center=NORTH,
        kind="daily",
        days_ago=1,
        author="Bruno Lago",
        summary="Strong current in the morning; feeding started two hours late.",
        findings=(
            "The current reached 0.7 meters per second at 8 in the morning.",
            "Cage 3 ate all its feed in spite of the late start.",
        ),
        recommendation="Inspect the moorings of cage 1 after the current.",
    ),
    Report(
        report_id="rep-east-074",
        center=EAST,
        kind="health",
        days_ago=2,
        author="Doctor Irene Paz",
        summary="Sea lice in cage 7 passed the limit of 0.5 adult lice per fish.",
        findings=(
            "The count in cage 7 was 0.62 adult lice per fish; cage 8 had 0.19.",
            "Gills and skin were healthy in all sampled fish.",
        ),
        recommendation="Plan a fresh water treatment of cage 7 within five days.",
    ),
    Report(
        report_id="rep-north-wk31",
        center=NORTH,
        kind="weekly",
        days_ago=3,
        author="Bruno Lago",
        summary="Growth was 4 percent above plan and mortality stayed low.",
        findings=(
            "The three cages hold 623 tonnes together.",
            "Feed conversion improved from 1.21 to 1.18.",
        ),
        recommendation="Raise the ration of cage 3 by 5 percent next week.",
    ),
    Report(
        report_id="rep-south-wk31",
        center=SOUTH,
        kind="weekly",
        days_ago=3,
        author="Marta Vidal",
        summary="The water warmed by 0.4 degrees and oxygen went down in cage 5.",
        findings=(
            "Cage 5 lost 1.3 milligrams of oxygen per liter in a week.",
            "Cages 4 and 6 grew to plan.",
        ),
        recommendation="Rent a second aerator before the weekend.",
    ),
    Report(
        report_id="rep-east-073",
        center=EAST,
        kind="harvest",
        days_ago=5,
        author="Pablo Neira",
        summary="A trial harvest of cage 8: one tonne, at an average of 4.9 kilograms.",
        findings=(
            "97 percent of the fish were graded superior.",
            "The well boat left at noon without delay.",
        ),
        recommendation="Begin the harvest of cage 8 in two weeks.",
    ),
    Report(
        report_id="rep-north-041",
        center=NORTH,
        kind="health",
        days_ago=6,
        author="Doctor Irene Paz",
        summary="Sea lice are low in all three cages and the gills are clean.",
        findings=(
            "The highest count was 0.32 adult lice per fish, in cage 2.",
            "No fish of the sample had wounds.",
        ),
        recommendation="Repeat the count in two weeks.",
    ),
    Report(
        report_id="rep-south-056",
        center=SOUTH,
        kind="health",
        days_ago=8,
        author="Doctor Irene Paz",
        summary="Healthy fish in cages 4 and 6; some pale gills in cage 5.",
        findings=(
            "Four of 60 sampled fish in cage 5 had pale gills.",
            "Sea lice were under 0.45 adult lice per fish everywhere.",
        ),
        recommendation="Sample cage 5 again in ten days.",
    ),
    Report(
        report_id="rep-east-wk30",
        center=EAST,
        kind="weekly",
        days_ago=10,
        author="Pablo Neira",
        summary="The best growth of the year, with 447 tonnes in two cages.",
        findings=(
            "Cage 7 gained 11 tonnes in the week.",
            "Two feeding cameras were replaced.",
        ),
        recommendation="Book the well boat for the harvest of cage 8.",
    ),
)

INSIGHTS = (
    Insight(
        "ins-501", SOUTH, 5, "oxygen", "critical", 0,
        "Oxygen in cage 5 is 6.4 milligrams per liter, below the limit of 7.",
    ),
    Insight(
        "ins-500", NORTH, 2, "mortality", "warning", 0,
        "Mortality in cage 2 is the highest of the north center, with 19 fish today.",
    ),
    Insight(
        "ins-498", EAST, 7, "sea_lice", "warning", 1,
        "Sea lice in cage 7 are above 0.5 adult lice per fish and rising.",
    ),
    Insight(
        "ins-495", SOUTH, 5, "feed", "warning", 1,
        "Fish in cage 5 leave a third of their feed.",
    ),
    Insight(
        "ins-493", NORTH, 3, "biomass", "info", 3,
        "Cage 3 grows 4 percent faster than planned.",
    ),
    Insight(
        "ins-490", SOUTH, 4, "temperature", "info", 4,
        "The water in cage 4 has warmed by half a degree in ten days.",
    ),
    Insight(
        "ins-486", EAST, 8, "biomass", "info", 6,
        "Cage 8 will reach its harvest weight in two weeks.",
    ),
)  # fmt: skip
