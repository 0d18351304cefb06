"""Figures and animations from labelled results."""
