"""The human jumper of Chen, Yan and Jin 2003, and what goes beyond it."""
