"""The patch series at rest and at work: as commits to edit, as files to keep."""
