"""The text of a query comes in, its syntax tree goes out."""

from rheos.syntax import ast
from rheos.syntax.detect import detect
from rheos.syntax.parser import parse

__all__ = ["ast", "detect", "parse"]
