"""Administration of the hosted executors: their SDK and their credentials."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

from ...system.checks import Check, Finding, failed, ok
from ..administration import Administration

__all__ = ["BlaxelAdministration", "E2BAdministration", "ModalAdministration"]


class _Hosted(Administration):
    """Administration of one hosted executor.

    Attributes:
        extra: name of the extra that installs its SDK.
        module: of the SDK.
        variables: of which one has to be set.
        file: with credentials, in the user's home; empty for none.
    """

    extra: str
    module: str
    variables: tuple[str, ...]
    file: str = ""

    def checks(self) -> Sequence[Check]:
        return (Check("package", self._package), Check("credentials", self._credentials))

    def _package(self) -> Finding:
        if importlib.util.find_spec(self.module) is not None:
            return ok(f"{self.module} is installed")
        return failed(f"{self.module} is not installed", f"pip install 'smolagents[{self.extra}]'")

    def _credentials(self) -> Finding:
        # Their values are secrets; the service is not asked whether it accepts them.
        for variable in self.variables:
            if os.environ.get(variable):
                return ok(f"{variable} is set")
        if self.file and Path.home().joinpath(self.file).is_file():
            return ok(f"~/{self.file} is there")
        return failed("none found", f"set {' or '.join(self.variables)}")


class E2BAdministration(_Hosted):
    """Administration of the E2B executor."""

    extra, module, variables = "e2b", "e2b_code_interpreter", ("E2B_API_KEY",)


class ModalAdministration(_Hosted):
    """Administration of the Modal executor."""

    extra, module, variables, file = "modal", "modal", ("MODAL_TOKEN_ID",), ".modal.toml"


class BlaxelAdministration(_Hosted):
    """Administration of the Blaxel executor."""

    extra, module, variables = "blaxel", "blaxel", ("BL_API_KEY",)
    file = ".blaxel/config.yaml"
