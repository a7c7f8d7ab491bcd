"""Tests of the dependency checker: python3 -m unittest discover scripts/dependencies"""

import unittest

import licences
import rules
import versions

ALLOWED = {"MIT", "Apache-2.0", "ISC", "Apache-2.0 WITH LLVM-exception"}


class Licences(unittest.TestCase):
    def check(self, expected: bool, *expressions: str):
        for expression in expressions:
            with self.subTest(expression):
                self.assertEqual(licences.satisfiable(expression, ALLOWED), expected)

    def test_one_allowed_side_of_an_or_is_enough(self):
        self.check(True, "MIT", "GPL-3.0 OR MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "GPL-3.0 / MIT", "(GPL-3.0 OR MIT)")

    def test_every_side_of_an_and_must_be_allowed(self):
        self.check(True, "MIT AND ISC", "(MIT OR GPL-3.0) AND ISC")
        self.check(False, "MIT AND GPL-3.0", "GPL-3.0 AND MIT", "ISC AND (GPL-3.0 OR AGPL-3.0)")

    def test_and_binds_tighter_than_or(self):
        self.check(True, "MIT OR GPL-3.0 AND AGPL-3.0", "GPL-3.0 AND AGPL-3.0 OR MIT")
        self.check(False, "(MIT OR GPL-3.0) AND AGPL-3.0")

    def test_an_exception_is_part_of_the_licence(self):
        self.check(True, "Apache-2.0 WITH LLVM-exception")
        self.check(False, "MIT WITH LLVM-exception", "GPL-2.0 WITH Classpath-exception-2.0")

    def test_an_invalid_expression_is_an_error(self):
        for expression in ["", "MIT OR", "(MIT", "MIT)", "MIT ISC", "OR MIT", "MIT; ISC"]:
            with self.subTest(expression), self.assertRaises(licences.ExpressionError):
                licences.satisfiable(expression, ALLOWED)


class Versions(unittest.TestCase):
    def test_versions_sort_by_semver_precedence(self):
        ordered = ["0.9.10", "1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0-beta", "1.0.0", "1.0.1", "1.10.0"]
        self.assertEqual(sorted(ordered, key=versions.key), ordered)
        self.assertEqual(versions.key("1.1.8+spec-1.1.0"), versions.key("1.1.8"))

    def test_all_comparators_of_one_range_hold(self):
        affected = ["<0.3.26", ">=0.4.0, <0.4.4"]
        for version, bad in [("0.3.25", True), ("0.3.26", False), ("0.4.0", True), ("0.4.3", True), ("0.4.4", False)]:
            with self.subTest(version):
                self.assertEqual(versions.within(version, affected), bad)
        self.assertTrue(versions.within("9.9.9", ["*"]))
        self.assertTrue(versions.within("0.4.10", ["=0.4.10"]))


def package(name="thing", version="1.0.0", licence="MIT", source="registry+https://example.test/index"):
    return {"name": name, "version": version, "license": licence, "license_file": None, "source": source}


class Rules(unittest.TestCase):
    def test_a_licence_outside_the_list_is_named(self):
        policy = {"allow": ["MIT"], "by_hand": {"blessed": "read"}}
        found = rules.licence_problems([package(), package("bad", licence="GPL-3.0"), package("none", licence=None)], policy)
        self.assertEqual(len(found), 2)
        self.assertIn("bad 1.0.0", found[0])
        self.assertIn("none 1.0.0", found[1])
        self.assertEqual(rules.licence_problems([package("blessed", licence=None)], policy), [])

    def test_a_banned_crate_is_found_in_the_build_graph(self):
        tree = "chancery v0.1.0 (app)\nring v0.17.14\nserde v1.0.0 (*)\n\nring v0.17.14 (*)\n"
        self.assertEqual(len(rules.banned_problems(tree, {"ring": "one crypto library"})), 1)
        self.assertEqual(rules.banned_problems(tree, {"openssl": "one TLS stack"}), [])

    def test_a_dependency_from_git_is_refused(self):
        git = package(source="git+https://example.test/thing?rev=1#1")
        self.assertEqual(len(rules.source_problems([package(), git, package(source=None)])), 1)

    def test_an_advisory_names_the_version(self):
        advisory = {"id": "RUSTSEC-0000-0001", "package": "thing", "affected": ["<1.0.1"], "why": "it breaks"}
        self.assertEqual(len(rules.advisory_problems([package()], [advisory])), 1)
        self.assertEqual(rules.advisory_problems([package(version="1.0.1"), package("other")], [advisory]), [])

    def test_a_yanked_version_is_read_from_the_index_cache(self):
        blob = b'\x03\x02\0\0\0etag\x00"1"\x001.0.0\x00{"vers":"1.0.0","yanked":true}\x001.0.1\x00{"vers":"1.0.1","yanked":false}\x00'
        self.assertEqual(rules.yanked_versions(blob), {"1.0.0": True, "1.0.1": False})


if __name__ == "__main__":
    unittest.main()
