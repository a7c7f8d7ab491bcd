"""The rules for dependencies. Each function takes plain data and returns the problems that it found."""

import json

import licences
import versions


def licence_problems(packages: list[dict], policy: dict) -> list[str]:
    """Packages whose licence cannot be chosen from `policy["allow"]`."""
    allowed = set(policy["allow"])
    problems = []
    for package in packages:
        label, expression = name(package), package["license"]
        if expression is None:
            if package["name"] not in policy.get("by_hand", {}):
                problems.append(f"{label}: no licence expression; read its licence file, then list it under by_hand")
            continue
        try:
            if not licences.satisfiable(expression, allowed):
                problems.append(f"{label}: licence {expression!r} is not allowed")
        except licences.ExpressionError as error:
            problems.append(f"{label}: licence {expression!r} cannot be read: {error}")
    return problems


def banned_problems(tree: str, banned: dict[str, str]) -> list[str]:
    """Banned crates in `tree`, the output of `cargo tree --prefix none`."""
    built = {line.split()[0] for line in tree.splitlines() if line.strip()}
    return [f"{crate}: banned: {why} (cargo tree --workspace -i {crate})" for crate, why in banned.items() if crate in built]


def source_problems(packages: list[dict]) -> list[str]:
    """Packages that come neither from a registry nor from this workspace."""
    return [
        f"{name(package)}: comes from {package['source']}; only registry releases are allowed"
        for package in packages
        if package["source"] is not None and not package["source"].startswith("registry+")
    ]


def advisory_problems(packages: list[dict], advisories: list[dict]) -> list[str]:
    """Packages at a version that an advisory names."""
    return [
        f"{name(package)}: {advisory['id']}: {advisory['why']}"
        for package in packages
        for advisory in advisories
        if package["name"] == advisory["package"] and versions.within(package["version"], advisory["affected"])
    ]


def yanked_versions(blob: bytes) -> dict[str, bool]:
    """Version to yanked, from one file of cargo's sparse index cache (fields separated by NUL bytes)."""
    found = {}
    for field in blob.split(b"\0"):
        if field.startswith(b"{"):
            entry = json.loads(field)
            found[entry["vers"]] = entry.get("yanked", False)
    return found


def name(package: dict) -> str:
    """Name and version of the package, for messages."""
    return f"{package['name']} {package['version']}"
