"""Measurements. Each compares with the best hand-written version, side by side in one run."""
