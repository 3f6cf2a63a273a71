"""Version of the fork; the build checks it against ``upstream.lock``."""

upstream_version = "1.26.0"
fork_revision = 1
