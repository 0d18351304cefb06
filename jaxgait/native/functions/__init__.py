"""Elementary functions as straight-line arithmetic on float64 and float32: what `expansions` puts in their place."""
