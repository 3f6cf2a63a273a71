#!/bin/sh
# The image of AgentSandbox, first part: what smolagents requires, in the virtual environment of the kernel.
# Runs as root in a container of DockerExecutor's image, in a folder with these files, which is removed afterwards.
set -e
echo "==> installing the requirements of smolagents"
python3 -m pip install --no-compile --no-deps --require-hashes -r requirements.txt
echo "==> compiling"
python3 -m compileall -qq -j 0 "$(python3 -c 'import sys; print(sys.prefix)')/lib" || true
