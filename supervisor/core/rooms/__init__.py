"""Conversations: what is talked about, what is said to whom, what counts as speech, and what ends it."""
