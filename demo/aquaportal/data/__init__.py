"""The made-up fish farm, as plain data: days are counted back from the day of the question."""
