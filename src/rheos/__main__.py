"""`python -m rheos` is the command `rheos`."""

from rheos.cli import main

main()
