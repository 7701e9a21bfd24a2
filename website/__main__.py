"""`python -m website`: build the site into build/site, and fail on any warning."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import tomli_w

from website.navigation import navigate
from website.pages import ROOT, gather_pages


def build(folder: Path) -> Path:
    """Gather the pages into `folder`/pages and build `folder`/site; where that is."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = gather_pages(folder / "pages")
    settings = tomllib.loads((ROOT / "website" / "zensical.toml").read_text(encoding="utf-8"))
    settings["project"] |= {"nav": navigate(pages), "docs_dir": "pages", "site_dir": "site"}
    (folder / "zensical.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(folder / "zensical.toml")]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "site"


if __name__ == "__main__":
    print(f"open {build(ROOT / 'build' / 'website') / 'index.html'}")
