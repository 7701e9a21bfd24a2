"""`python -m dstress` is `dstress`."""

from dstress.cli.main import main

main()
