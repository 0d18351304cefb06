"""Reliability in figures: see `gates`."""
