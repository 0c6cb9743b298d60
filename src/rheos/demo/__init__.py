"""The demo: a simulated city, its streams, and continuous queries over them in the terminal and a browser."""
