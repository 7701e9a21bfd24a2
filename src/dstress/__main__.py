"""`python -m dstress` is `dstress`."""

if __name__ == "__main__":
    from dstress.cli.main import main

    main()
