"""Changes of an installation below a folder, so that an image layer contains only these.

    python3 changes.py note FOLDER LIST           before: list the existing files
    python3 changes.py collect FOLDER LIST DELTA  after: copy new and changed files to DELTA, and
                                                  list removed ones in DELTA/FOLDER/.removed
    python3 changes.py remove FOLDER              in the result: remove the files in .removed

Copying a whole virtual environment of twelve thousand files takes the engine's builder many times
as long as the installation itself.
"""

import contextlib
import json
import os
import shutil
import sys


def entries(folder):
    """List files and links below ``folder`` with their attributes that show changes."""
    found = {}
    for where, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(where, name))]
        for name in [*names, *links]:
            path = os.path.join(where, name)
            status = os.lstat(path)
            found[path] = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode]
    return found


def collect(folder, before, delta):
    after = entries(folder)
    for path, status in after.items():
        if before.get(path) != status:
            target = delta + path
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(path, target, follow_symlinks=False)
    os.makedirs(delta + folder, exist_ok=True)
    with open(delta + folder + "/.removed", "w") as names:
        json.dump(sorted(before.keys() - after.keys()), names)


def remove(folder):
    with open(folder + "/.removed") as names:
        for path in json.load(names):
            os.remove(path)
            with contextlib.suppress(OSError):  # not empty
                os.removedirs(os.path.dirname(path))
    os.remove(folder + "/.removed")


if __name__ == "__main__":
    what, folder = sys.argv[1:3]
    if what == "note":
        with open(sys.argv[3], "w") as target:
            json.dump(entries(folder), target)
    elif what == "collect":
        with open(sys.argv[3]) as source:
            collect(folder, json.load(source), sys.argv[4])
    else:
        remove(folder)
