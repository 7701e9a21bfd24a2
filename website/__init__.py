"""How the documentation becomes a site: hooks of MkDocs, pictures, and a look at every page."""
