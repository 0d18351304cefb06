"""From a laboratory's recording to the strides of one leg in the sagittal plane.

Marker maps, axes, gaps and smoothing, joint centres, ground forces, events, strides: `measure` does all of it.
"""
