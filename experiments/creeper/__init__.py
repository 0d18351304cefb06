"""The creeping in-pipe robot of Zhao et al. 2010."""
