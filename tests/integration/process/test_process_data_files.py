"""numpy and pandas in the child: files of its own folder, where the author asks for them."""

from __future__ import annotations

import pytest
from process_harness import executor

from smolagents_fork.errors import ProgramFailedError, ProgramRefusedError

pytest.importorskip("pandas")

WRITE = "import pandas as pd\npd.DataFrame({'a': [1]}).to_csv('out.csv', index=False)"


def test_files_of_its_folder_are_for_who_asks():
    with executor(["pandas"], data_files=True) as ex:
        ex(WRITE)
        assert ex("pd.read_csv('out.csv')['a'].tolist()").output == [1]
        for path in ("../out.csv", "/etc/passwd", "http://localhost/x.csv"):
            with pytest.raises((ProgramFailedError, ProgramRefusedError), match="Forbidden access"):
                ex(f"pd.read_csv({path!r})")


def test_without_asking_there_are_buffers():
    with executor(["pandas"]) as ex:
        with pytest.raises((ProgramFailedError, ProgramRefusedError), match="data_files=True"):
            ex(WRITE)
        code = "import io\nimport pandas as pd\npd.read_csv(io.StringIO('a\\n1'))['a'].tolist()"
        assert ex(code).output == [1]
