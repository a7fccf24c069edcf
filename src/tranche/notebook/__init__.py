"""A project as notebooks show it: `tranche.project(".")`, and HTML without a script or a style
sheet."""
