#!/bin/sh
# The image of AgentSandbox, first part: what smolagents requires, in a virtual environment.
# Runs as root in a container of the base image, in a folder with these files, which is removed afterwards.
set -e
echo "==> creating a virtual environment"
python3 -m venv /opt/agent
echo "==> installing the requirements of smolagents"
/opt/agent/bin/python -m pip install --no-compile --no-deps --require-hashes -r requirements.txt
mkdir -p /workspace
# Programs ask for the name of their user; the base has none for the user of the image.
grep -q '^[^:]*:[^:]*:1000:' /etc/passwd || echo 'sandbox:x:1000:1000:sandbox:/workspace:/bin/sh' >>/etc/passwd
grep -q '^[^:]*:[^:]*:1000:' /etc/group || echo 'sandbox:x:1000:' >>/etc/group
echo "==> compiling"
/opt/agent/bin/python -m compileall -qq -j 0 /opt/agent/lib || true
