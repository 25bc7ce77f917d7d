"""`fake-cli`, also as `python -m fake_cli`."""

import sys


def main() -> None:
    from .app import run
    from .options import parse

    sys.exit(run(parse(sys.argv[1:])))


if __name__ == "__main__":
    main()
