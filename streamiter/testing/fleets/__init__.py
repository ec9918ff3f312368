"""Fleets: a user's own app, run by simulated workers that can be killed, stand still and leave; its laws are checked."""

from streamiter.testing.fleets.fleet import FleetOf as FleetOf
from streamiter.testing.fleets.laws import LawBroken as LawBroken
from streamiter.testing.fleets.weather import FleetWeather as FleetWeather
