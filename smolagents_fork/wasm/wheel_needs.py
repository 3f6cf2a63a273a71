"""Requirements of wheels, by their own metadata: no package is built and no code of one runs.

pip follows the requirements of a wheel to addresses, and builds what it finds there, whatever its
options about builds are. So it gets wheels by name only, and the metadata is read here.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import TYPE_CHECKING

from ..distributions.requirements import parse_requirement
from ..errors import ConfigurationError, ExecutorStartError

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

__all__ = ["Wheel", "resolve"]

_MOST_ROUNDS = 50
_MOST_WHEELS = 300
_MOST_METADATA_BYTES = 4 << 20


@dataclass(frozen=True)
class Wheel:
    """One wheel, as its file's name and its metadata describe it.

    Attributes:
        path: of the file.
        name: normalised.
        version: of the distribution.
        needs: its requirements, as they are written.
    """

    path: Path
    name: str
    version: Version
    needs: tuple[str, ...]

    @classmethod
    def of(cls, path: Path) -> Wheel:
        """Read a wheel.

        Raises:
            ExecutorStartError: it is not one.
        """
        from packaging.utils import parse_wheel_filename

        try:
            name, version, _, _ = parse_wheel_filename(path.name)
            with zipfile.ZipFile(path) as archive:
                return cls(path, name, version, _needs_of(archive))
        except Exception as bad:  # each method of compression has errors of its own
            raise ExecutorStartError(f"{path.name} cannot be read as a wheel: {bad}") from None


def _needs_of(archive: zipfile.ZipFile) -> tuple[str, ...]:
    names = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    (name,) = [name for name in names if name.count("/") == 1]
    # Of all that importlib.metadata may read, which compression makes a thousand times larger.
    for file in archive.infolist():
        folder, *rest = file.filename.lower().split("/")
        is_metadata = folder.endswith("-info") and len(rest) == 1
        if is_metadata and file.file_size > _MOST_METADATA_BYTES:
            raise ValueError(f"its metadata has more than {_MOST_METADATA_BYTES} bytes")
    requirements = BytesHeaderParser().parsebytes(archive.read(name)).get_all("Requires-Dist")
    return tuple(str(requirement) for requirement in requirements or ())


@dataclass
class _Need:
    """All that is asked of one distribution."""

    name: str
    versions: SpecifierSet
    extras: set[str] = field(default_factory=set)
    askers: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name}{self.versions}"


def resolve(
    requirements: Sequence[str],
    environment: Mapping[str, str],
    fetch: Callable[[Sequence[str]], Iterable[Wheel]],
) -> list[Wheel]:
    """Find wheels for requirements, and for what these wheels require.

    A version that was fetched is fetched again when something found later excludes it. There is no
    search among older versions of what asked for it.

    Args:
        requirements: Requirements of the user.
        environment: values of markers, such as ``python_version``.
        fetch: gets names with versions, and returns a wheel for each.

    Raises:
        ExecutorStartError: a wheel requires an address, or versions exclude one another.
    """
    chosen: dict[str, Wheel] = {}
    fetched = 0
    for _ in range(_MOST_ROUNDS):
        needs = _needs(requirements, environment, chosen)
        excluded = [
            name
            for name, need in needs.items()
            if name in chosen and not need.versions.contains(chosen[name].version, prereleases=True)
        ]
        for name in excluded:
            del chosen[name]
        if excluded:
            continue  # what only these needed is not fetched
        missing = {name: need for name, need in needs.items() if name not in chosen}
        if not missing:
            return [chosen[name] for name in needs]
        fetched += len(missing)
        if fetched > _MOST_WHEELS:
            break
        try:
            wheels = {wheel.name: wheel for wheel in fetch([*map(str, missing.values())])}
        except ExecutorStartError as error:
            raise ExecutorStartError(f"{error}{_asked_by(missing.values())}") from None
        for name, need in missing.items():
            if name not in wheels:
                raise ExecutorStartError(f"pip has not fetched {need}{_asked_by([need])}")
            chosen[name] = wheels[name]
    raise ExecutorStartError(
        f"{', '.join(requirements)}: after {fetched} wheels a version is still missing; name "
        "compatible versions"
    )


def _asked_by(needs: Iterable[_Need]) -> str:
    lines = [
        f"\n{need} is asked for by {', '.join(sorted(set(need.askers)))}"
        for need in needs
        if need.askers
    ]
    return "".join(lines)


def _needs(
    requirements: Sequence[str], environment: Mapping[str, str], chosen: Mapping[str, Wheel]
) -> dict[str, _Need]:
    """Collect what is needed, by its normalised name, as far as the chosen wheels say it."""
    from packaging.utils import canonicalize_name

    needs: dict[str, _Need] = {}
    waiting = [(parse_requirement(text), "") for text in requirements]
    while waiting:
        requirement, asker = waiting.pop()
        name = canonicalize_name(requirement.name)
        need = needs.setdefault(name, _Need(requirement.name, requirement.specifier))
        need.versions = need.versions & requirement.specifier
        if asker:
            need.askers.append(asker)
        wheel = chosen.get(name)
        if wheel is None or need.extras.issuperset(requirement.extras | {""}):
            continue  # not there yet, or read before with these extras
        need.extras |= requirement.extras | {""}
        waiting += [
            (dependency, wheel.path.name)
            for dependency in _read_required(wheel, need.extras, environment)
        ]
    return needs


def _read_required(
    wheel: Wheel, extras: Iterable[str], environment: Mapping[str, str]
) -> list[Requirement]:
    from packaging.requirements import Requirement

    requirements = []
    for text in wheel.needs:
        try:
            marker = Requirement(text).marker
            if marker is not None and not any(
                marker.evaluate({**environment, "extra": extra}) for extra in extras
            ):
                continue
            requirements.append(parse_requirement(text))
        # packaging's own errors are ValueErrors, as is that of a number with thousands of digits.
        except (ValueError, RecursionError, ConfigurationError):
            raise ExecutorStartError(
                f"{wheel.path.name} requires {text[:200]!r}, which is not a name with versions: "
                "nothing is fetched from addresses that a package names"
            ) from None
    return requirements
