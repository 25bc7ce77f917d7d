"""Office Supervisor: command-line agents that talk to each other, under supervision, in front of your eyes."""

__version__ = "0.1.0"
