"""The palette: the colours of pictures, on a light ground and on a dark one; pure."""

from __future__ import annotations

GROUND = "#ffffff"
INK, QUIET, GRID, TOKEN = "#22303c", "#66737f", "#e6eaed", "#b3261e"
# Pairs, pale for the bar and strong for its records; people who do not see red and green alike can tell them apart, too.
COLOURS = (
    ("#d3e5f4", "#1f6fae"), ("#fbe3cc", "#c2650a"), ("#dcefe0", "#2c8047"),
    ("#ece1f4", "#7b4aa0"), ("#f6e0e8", "#b0396e"), ("#e9e6d2", "#827418"),
)  # fmt: skip
_DARK_COLOURS = (
    ("#15344f", "#62aee8"), ("#4a2e12", "#f09a44"), ("#193d25", "#5cbf7f"),
    ("#3a274c", "#bf93df"), ("#4a1d31", "#ee85b0"), ("#3b3714", "#cdbd55"),
)  # fmt: skip
# What takes the place of each colour where the reader's screen is dark.
DARK = {
    GROUND: "#0d1117",
    INK: "#e3e9ef",
    QUIET: "#9aa6b2",
    GRID: "#27303a",
    TOKEN: "#ff7b72",
    **{
        light: dark
        for lights, darks in zip(COLOURS, _DARK_COLOURS, strict=True)
        for light, dark in zip(lights, darks, strict=True)
    },
}
