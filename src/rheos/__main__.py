"""`python -m rheos` runs the command `rheos`."""

from rheos.cli import main

main()
