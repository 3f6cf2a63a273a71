#!/bin/sh
# The image of AgentSandbox, second part: smolagents from the wheel of this installation.
set -e
echo "==> installing smolagents"
python3 -m pip install --no-compile --no-deps --no-index ./*.whl
python3 -m compileall -qq -j 0 "$(python3 -c 'import sys; print(sys.prefix)')/lib" || true
env -u PYTHONDONTWRITEBYTECODE python3 -c "import smolagents, smolagents_fork.agent_sandbox.supervisor"
