"""The syntax: the text of a query or an update comes in, its syntax tree goes out."""

from rheos.syntax import ast
from rheos.syntax.detect import detect
from rheos.syntax.parser import parse, parse_update

__all__ = ["ast", "detect", "parse", "parse_update"]
