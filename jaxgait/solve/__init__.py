"""One trajectory: solvers, the driver `simulate`, hybrid solves, periodic orbits."""
