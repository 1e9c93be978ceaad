"""``python -m timeline``: the same program as ``timeline``."""

from timeline.entry import main

if __name__ == "__main__":
    main()
