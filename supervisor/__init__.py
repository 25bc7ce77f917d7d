"""Office Supervisor: command-line agents that talk to each other, under supervision, in front of your eyes."""

import logging

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # whoever wants to read it says where
