"""The version of the package, which is that of the program it belongs to."""

VERSION = "0.1.0"
