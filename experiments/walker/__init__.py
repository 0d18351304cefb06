"""The walker's paper, and its periodic gaits."""
