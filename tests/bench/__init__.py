"""The benchmarks: that they run and that their data is what it says, not how quick anything is."""
