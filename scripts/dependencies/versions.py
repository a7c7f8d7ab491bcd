"""Semantic versions and ranges, as used in advisories."""

import re

_COMPARATOR = re.compile(r"(<=|>=|<|>|=)\s*(\S+)")


def key(version: str) -> tuple:
    """A sort key with the precedence of semver.org section 11, which ignores build metadata."""
    release, _, pre = version.split("+", 1)[0].partition("-")
    numbers = tuple(int(part) for part in release.split("."))
    if len(numbers) != 3:
        raise ValueError(f"{version!r} is not a full version")
    # A release is newer than its pre-releases. Numeric identifiers sort before alphanumeric ones.
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre.split(".")) if pre else ()
    return numbers, not pre, parts


def within(version: str, ranges: list[str]) -> bool:
    """True when `version` is in any of `ranges`; a range matches if all its comma-separated comparators hold."""
    return any(_within(version, text) for text in ranges)


def _within(version: str, text: str) -> bool:
    return text.strip() == "*" or all(_holds(version, part.strip()) for part in text.split(","))


def _holds(version: str, comparator: str) -> bool:
    match = _COMPARATOR.fullmatch(comparator)
    if match is None:
        raise ValueError(f"{comparator!r} is not a comparator")
    left, right = key(version), key(match[2])
    return {
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
        "=": left == right,
    }[match[1]]
