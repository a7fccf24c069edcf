"""The API of a server: requests to service to JSON."""
