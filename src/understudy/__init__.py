"""understudy: synthetic stand-ins for confidential tables about people, with evidence."""

__version__ = "0.1.0"
