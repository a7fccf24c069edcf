"""What Tranche remembers: runs, and the ledger of what each partition was built from.

`SqlStore` keeps it in SQLite or PostgreSQL, `MemoryStore` in memory, both under one contract;
`open_store` picks the right one for a command. `open_partitions` is for those that only ask where
keys stand, `open_story` for those that ask what is known of single keys.
"""
