"""Where tasks keep what they return: tables and files that columns of the rows divide."""
