"""Every error that this package raises on purpose.

    SupervisorError
    ├── ConfigError            somebody has to change a file or a flag
    │   └── PlanError          a floor plan that cannot be an office
    ├── StoreError             the database cannot be used
    ├── ServerError            the server cannot be started, reached or talked to
    ├── Refused                a command that cannot be carried out now; has a code for programs
    └── AgentError             one agent, or its CLI, cannot do what was asked
        ├── CannotStart        the program is missing, may not be run, or died at start
        ├── CannotResume       it came up, and knows nothing of its session
        ├── PromptTooLarge     refused before anything was sent
        ├── AgentBusy          a turn is running already
        ├── AskRepeated        the CLI has had this very ask and would keep silent
        └── AgentStopped       it was stopped, or never started

Each message is one line that says what to do. What goes wrong *inside* a turn is not an exception: it is the turn's
outcome, because the conversation has to go on.
"""


class SupervisorError(Exception):
    """The base of them all; its text can be shown to a person as it stands."""


class ConfigError(SupervisorError):
    """Wrong configuration or usage; exit status 2."""


class PlanError(ConfigError):
    """A mistake in a floor plan, with its place."""


class StoreError(SupervisorError):
    """The state folder or its database."""


class ServerError(SupervisorError):
    """The server, or the way to it."""


class Refused(SupervisorError):
    """A command of a client that was understood and is not carried out."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class AgentError(SupervisorError):
    """Something about one agent."""


class CannotStart(AgentError):
    """The CLI could not be brought up."""

    passing = False
    """It was the machine, which had no room for it at the moment."""


class CannotResume(AgentError):
    """The CLI lost its session: whatever it is to know has to be told again."""


class PromptTooLarge(AgentError):
    """A prompt above the limit."""


class AgentBusy(AgentError):
    """One turn at a time."""


class AskRepeated(AgentError):
    """An ask that this process was given before; a new try needs a new id."""


class AgentStopped(AgentError):
    """The agent is not running."""
