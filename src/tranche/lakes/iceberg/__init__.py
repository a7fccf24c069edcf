"""Tables of Iceberg."""
