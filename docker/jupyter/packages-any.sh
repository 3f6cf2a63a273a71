#!/bin/sh
# Packages of one application, in an image of the user's own, whose layout is unknown.
set -e
pip install -- "$@"
