"""Reports of searches and fits: pictures, and one HTML page that holds them all."""
