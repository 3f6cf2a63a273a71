"""Ready pods of warm pools: the choice between a claim and a new pod, and the claims."""
