"""Utilities that know nothing of mechanics: checks of arguments, files, units, notes, memory and processes."""
