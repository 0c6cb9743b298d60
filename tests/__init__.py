"""The tests of rheos, one folder for each folder of the package, and the suites that run the whole engine."""
