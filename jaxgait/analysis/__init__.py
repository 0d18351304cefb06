"""Analysis of trajectories and gaits: correlation, spectra, subharmonic order, Floquet multipliers, continuation."""
