"""``DockerExecutor`` beside upstream's own and bare parts."""
