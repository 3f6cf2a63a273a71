"""Labels that name the owner of a container, and removal of containers without one."""
