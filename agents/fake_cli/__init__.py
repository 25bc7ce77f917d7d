"""A drop-in stand-in for the claude command-line agent: offline, free, scripted, and worth talking to.

It takes the same flags and stdin lines, prints the same stdout events and writes the same transcript, so whatever
drives the real program can be tried and tested with this one. What it says comes from a persona or a scenario.
"""

VERSION = "2.1.326"
"""The version of the real program whose behaviour is imitated, as measured."""
