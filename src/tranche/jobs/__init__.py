"""Python steps: decorators, and what becomes of the functions that they mark."""
