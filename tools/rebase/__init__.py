"""Takes the series from one upstream release to another, release by release."""
