"""What the resolver and the release gate have to decide, written down before they existed, and from nothing of theirs.

It imports the standard library alone. ``table`` says what one claim alone leads to, ``pairs`` what two claims of one
question do to each other. Both are data first: rows that can be read beside the requirements (P21 to P26, P30, P31,
P34, P37, P39), and as little code as finds the row. The tests next to this package build the real thing from the same
words and compare.
"""
