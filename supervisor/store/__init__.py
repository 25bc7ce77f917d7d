"""What is kept: SQLite, one writer, everything of one step in one transaction."""
