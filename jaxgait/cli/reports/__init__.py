"""Reports of searches and fits."""
