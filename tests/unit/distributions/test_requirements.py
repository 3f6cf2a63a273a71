"""Import names to requirements."""

from __future__ import annotations

import pytest

from smolagents_fork.distributions.requirements import missing_requirements, requirements_for
from smolagents_fork.errors import ConfigurationError


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
            ("numpy==2.1.0", "uvicorn[standard]>=0.3,<1"),
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
        "a @ file:///etc", "./here", "x\n--pre",
    ],
)  # fmt: skip
def test_nothing_reaches_pip_as_an_option_or_an_address(bad):
    with pytest.raises(ConfigurationError):
        requirements_for([bad])
    with pytest.raises(ConfigurationError):
        requirements_for([], [bad])


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
