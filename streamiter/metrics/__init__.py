"""Metrics: what a stream or an app tells of itself, as instruments that monitoring systems know."""

from streamiter.metrics.app import AppTelemetry as AppTelemetry
from streamiter.metrics.instruments import INSTRUMENTS as INSTRUMENTS
from streamiter.metrics.instruments import Instrument as Instrument
from streamiter.metrics.opentelemetry import OpenTelemetry as OpenTelemetry
