"""Speed against stock diffrax, SciPy and hand-written C++: work-precision rows and targets."""
