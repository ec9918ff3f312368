"""`python -m streamiter`: the same as the command `streamiter`."""

from streamiter.cli.main import main

if __name__ == "__main__":
    main()
