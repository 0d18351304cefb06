"""What is read off a trajectory: correlation, spectra, subharmonic order, Floquet multipliers, continuation."""
