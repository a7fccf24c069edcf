"""Events of OpenLineage: what becomes of runs, told to whoever the settings name.

`watching` hears of runs and costs them nothing: it imports no client and only queues what it hears.
All else happens in the thread of `sending`, which imports `events` and, with it, the client.
"""
