"""The query of one slice, for many keys at once."""
