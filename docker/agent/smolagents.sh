#!/bin/sh
# The image of AgentSandbox, second part: smolagents as it is installed where the image is built.
set -e
echo "==> installing smolagents"
# The archive has what a wheel would install.
python3 -m zipfile -e smolagents.zip "$(python3 -c "import sysconfig; print(sysconfig.get_path('purelib'))")"
python3 -m compileall -qq -j 0 "$(python3 -c 'import sys; print(sys.prefix)')/lib" || true
env -u PYTHONDONTWRITEBYTECODE python3 -c "import smolagents, smolagents_fork.agent_sandbox.supervisor"
