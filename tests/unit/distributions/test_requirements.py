"""Import names to requirements."""

from __future__ import annotations

import pytest

from smolagents_fork.distributions.requirements import (
    missing_requirements,
    parse_requirement,
    requirements_for,
)
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.sandboxes.docker.images.image_plans import plan


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ([], ()),
        (["*"], ()),
        (["os", "os.path", "json", "xml.*"], ()),
        (["PIL", "sklearn", "cv2", "yaml", "bs4"], None),
        (["numpy", "numpy.*", "numpy.linalg"], ("numpy",)),
        (
            ["numpy==2.1.0", "uvicorn[standard]>=0.3,<1"],
            ("numpy==2.1.0", "uvicorn[standard]<1,>=0.3"),
        ),
        (["smolagents"], ()),
        (["matplotlib.pyplot", "mpl_toolkits.mplot3d"], ("matplotlib",)),
    ],
)
def test_names(imports, expected):
    if expected is None:
        expected = ("beautifulsoup4", "opencv-python-headless", "pillow", "PyYAML", "scikit-learn")
    assert requirements_for(imports) == expected


@pytest.mark.parametrize(
    "bad",
    [
        "--index-url=http://x", "-r other.txt", "git+https://x/y", "a b", "a; b\nx", "", " ",
        "a @ file:///etc", "./here", "x\n--pre", "-e.", "-", "--", "a @ ./b", "a[b] @ http://x/y",
        # pip splits the lines of a file at these, too.
        *(f"six; python_version > '3'{line}--index-url http://127.0.0.1:9/x"
          for line in "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\0\x1b"),
        # Files of the current folder.
        "other-1.0.tar.gz[a]", "x.tgz; os_name == 'a'", "x.whl[a]==1", "x==1+a.zip", "x===./y",
        "x===../y.tar.gz", "x===1.0.tar.bz2", "x[a]===1.0.tar.bz2", "x===C:\\y", "~/x", "/etc",
        "x/y", "x\\y",
        # Variables, which pip fills in where it reads a file.
        "${PIP_INDEX_URL}", "x==${PIP_INDEX_URL}", "$HOME",
        # Names that only look alike, and what is too long.
        "nump\u0443", "\uff4eumpy", "x; os_name == 'é'", "x; os_name == '" + "y" * 1000 + "'",
    ],
)  # fmt: skip
def test_nothing_reaches_pip_as_an_option_or_an_address(bad):
    with pytest.raises(ConfigurationError):
        requirements_for([bad])
    with pytest.raises(ConfigurationError):
        requirements_for([], [bad])
    with pytest.raises(ConfigurationError):
        parse_requirement(bad)
    with pytest.raises(ConfigurationError):
        plan(requirements=[bad])


@pytest.mark.parametrize("name", ["x.whl", "x-1.0.tar.gz", "x.ZIP", "x.tar", "x.egg", "x.tar.lzma"])
def test_name_of_an_archive_is_not_a_requirement(name):
    with pytest.raises(ConfigurationError, match="is not a requirement of the form"):
        requirements_for([], [name])
    # As an import, it is a module of a package.
    assert requirements_for([name]) in [("x",), ("x-1",)]


def test_requirement_is_written_anew():
    asked = "uvicorn [ standard ] >=0.3 ,<1;python_version>'3'"
    expected = 'uvicorn[standard]<1,>=0.3; python_version > "3"'
    assert str(parse_requirement(asked)) == expected
    assert requirements_for([asked]) == requirements_for([], [asked]) == (expected,)
    assert plan(requirements=[asked]).requirements == (expected,)


@pytest.mark.parametrize(
    ("asked", "given", "missing"),
    [
        (["numpy", "PIL", "json"], ["numpy==2.1", "Pillow"], []),
        (["sklearn", "scikit_learn"], ["scikit-learn"], []),
        (["numpy>=2"], ["numpy>=2"], []),
        (["numpy==2.1"], ["numpy"], ["numpy==2.1"]),
        (["numpy==2.1"], ["numpy==2.0"], ["numpy==2.1"]),
        (["pandas"], ["numpy"], ["pandas"]),
    ],
)
def test_requirements_that_a_pool_lacks(asked, given, missing):
    assert missing_requirements(asked, given) == missing
