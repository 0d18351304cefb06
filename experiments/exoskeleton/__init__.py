"""Borisov & Chigarev: the exoskeleton of telescopic links."""
