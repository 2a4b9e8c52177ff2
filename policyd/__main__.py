"""Runs the command line: `python -m policyd`."""

from policyd.cli.main import main

if __name__ == "__main__":
    main()
