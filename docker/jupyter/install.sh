#!/bin/sh
# The sandbox image of DockerExecutor: an IPython kernel and its server in a virtual environment.
# Runs as root in a container of the base image, in a folder with these files, which is removed afterwards.
set -e
venv=/opt/kernel

echo "==> creating a virtual environment"
# A wheel is a zip of what it installs. To unpack pip's takes half a second, and ensurepip, which runs pip from the
# zip, four; Python 3.11's also installs setuptools, which pip gets by itself for packages that it builds.
bundled=$(python3 -c "import sysconfig; print(sysconfig.get_path('stdlib'))")/ensurepip/_bundled
wheel=$(ls /usr/share/python-wheels/pip-*.whl "$bundled"/pip-*.whl 2>/dev/null | head -n 1)
[ -n "$wheel" ] || { echo "the base image's python3 has no pip for virtual environments: install python3-venv in it" >&2; exit 1; }
python3 -m venv --without-pip $venv
$venv/bin/python -m zipfile -e "$wheel" "$($venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")"
printf '#!%s/bin/python\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n' $venv >$venv/bin/pip
chmod +x $venv/bin/pip

echo "==> installing the kernel and its server"
$venv/bin/python -m pip install --no-compile --no-deps --require-hashes -r requirements.txt
cp kernel_server.py $venv/
mkdir -p /workspace
# Programs ask for the name of their user; the base has none for the user of the image.
grep -q '^[^:]*:[^:]*:1000:' /etc/passwd || echo 'sandbox:x:1000:1000:sandbox:/workspace:/bin/sh' >>/etc/passwd
grep -q '^[^:]*:[^:]*:1000:' /etc/group || echo 'sandbox:x:1000:' >>/etc/group
for site in $venv/lib/python3*/site-packages; do
    rm -rf $site/*/test $site/*/tests $site/*/*/tests
done

echo "==> compiling and checking"
$venv/bin/python -m compileall -qq -j 0 $venv/lib $venv/kernel_server.py || true
# The modules of the base's own library that it imports are compiled too, if the base has no bytecode.
env -u PYTHONDONTWRITEBYTECODE $venv/bin/python -c "import sys; sys.path.insert(0, '$venv'); import kernel_server"
