"""Elementary functions as arithmetic on float64 and float32: what `expansions` puts in their place, and a C library."""
