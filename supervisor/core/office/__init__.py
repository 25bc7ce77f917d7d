"""The office: a plan, and people who walk on it. Pure."""
