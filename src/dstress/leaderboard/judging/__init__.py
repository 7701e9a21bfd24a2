"""Human evaluation, in rounds."""
