"""External anchors: memories outside the state that know the largest tree they have confirmed of our log (X5).

One port (``port``), what it means together (``rules``), what is remembered here of their answers (``memory``), and
what the configuration folder pins (``pin``). ``asking`` puts the question; ``filed``, ``postgres`` and ``witnessed``
answer it.
"""
