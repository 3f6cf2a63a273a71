#!/bin/sh
# Packages of one application, in the virtual environment of the fork's images. Runs as install.sh does.
set -e
python3 -m pip install --no-compile -- "$@"
echo "==> compiling"
# Not the tests of packages, which are half of some and which no program imports.
python3 -m compileall -qq -j 0 -x "/tests?/" "$(python3 -c 'import sys; print(sys.prefix)')/lib" || true
