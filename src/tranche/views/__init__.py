"""Values as JSON: the shapes that programs may rely on, on the command line and in the API."""
