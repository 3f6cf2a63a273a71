#!/bin/sh
# The sandbox image of DockerExecutor: an IPython kernel and its gateway in a virtual environment.
# Runs as root in a container of the base image, in a folder with these files, which is removed afterwards.
set -e
venv=/opt/kernel

echo "==> creating a virtual environment"
python3 -m venv $venv

echo "==> installing the kernel and its gateway"
$venv/bin/python -m pip install --no-compile --no-deps --require-hashes -r requirements.txt
cp gateway*.py $venv/
mkdir -p /workspace

# setuptools comes with Python 3.11 and older; pip gets its own for packages that it builds.
$venv/bin/python -m pip uninstall -q -y setuptools
for site in $venv/lib/python3*/site-packages; do
    rm -rf $site/*/test $site/*/tests $site/*/*/tests
done

echo "==> compiling and checking"
$venv/bin/python -m compileall -qq -j 0 $venv/lib $venv/gateway*.py || true
# The modules of the base's own library that it imports are compiled too, if the base has no bytecode.
env -u PYTHONDONTWRITEBYTECODE $venv/bin/python -c "import sys; sys.path.insert(0, '$venv'); import gateway, gateway_ipython"
