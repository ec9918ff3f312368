"""The simulator as a server: connections, requests, refusals."""
