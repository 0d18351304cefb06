"""Measured motion: readers, stride segmentation, Fourier drives, the embedded reference gaits."""
