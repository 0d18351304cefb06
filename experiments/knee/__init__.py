"""Lü et al. 2020: the four-bar prosthetic knee."""
