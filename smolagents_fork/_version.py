"""The one place that says which fork this is; the build checks it against ``upstream.lock``."""

upstream_version = "1.26.0"
fork_revision = 1
