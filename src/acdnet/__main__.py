"""`python -m acdnet`: the command line."""

from acdnet.cli import main

if __name__ == "__main__":
    main()
