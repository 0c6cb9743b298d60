"""The demo: a city that does not exist comes in, its streams and the answers of continuous queries over them
go out, in the terminal and in a browser."""
