#!/usr/bin/python3
# Does ./check see a failure of each kind?
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import stat
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def load(path, name):
    loader = importlib.machinery.SourceFileLoader(name, path)
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


run_checks = load(os.path.join(TOP, 'tools', 'run-checks'), 'run_checks')


class CheckTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.checks = run_checks.Checks()
        self.checks.step = 'self'
        self.checks.log = lambda name: os.path.join(self.folder.name, 'log')
        self.said = io.StringIO()
        redirect = contextlib.redirect_stdout(self.said)
        redirect.__enter__()
        self.addCleanup(redirect.__exit__, None, None, None)

    def script(self, text):
        path = os.path.join(self.folder.name, 'script')
        with open(path, 'w') as f:
            f.write('#!/bin/sh\n' + text)
        os.chmod(path, stat.S_IRWXU)
        return path

    def cmocka(self, text, limit=30):
        run_checks.cmocka(self.checks, self.script(text), {}, limit)
        return tuple(self.checks.counts[k]
                     for k in ('passed', 'failed', 'skipped'))

    def test_cmocka_counts(self):
        self.assertEqual(self.cmocka(
            'echo 1..4; echo ok 1 - a; echo not ok 2 - b; echo "# 1 != 2";'
            'echo "# b.c:7"; echo no such device;'
            'echo "not ok 3 # SKIP c"; echo ok 4 - d; exit 1'), (2, 1, 1))
        self.assertEqual(self.checks.failures[0][1], 'script b')
        self.assertIn('1 != 2; b.c:7; see', self.checks.failures[0][2])
        self.assertEqual(self.checks.skips[0][2], 'no such device')

    def test_cmocka_killed(self):
        self.assertEqual(self.cmocka(
            'echo 1..3; echo ok 1 - a; kill -SEGV $$'), (1, 1, 0))
        self.assertIn('SIGSEGV after 1 of 3', self.checks.failures[0][2])

    def test_cmocka_too_few(self):
        self.assertEqual(self.cmocka('echo 1..3; echo ok 1 - a'), (1, 1, 0))

    def test_cmocka_silent(self):
        self.assertEqual(self.cmocka('exit 0'), (0, 1, 0))

    def test_cmocka_failing_teardown(self):
        self.assertEqual(self.cmocka(
            'echo 1..1; echo ok 1 - a; exit 3'), (1, 1, 0))

    def test_cmocka_too_slow(self):
        self.assertEqual(self.cmocka('sleep 60', limit=0.2), (0, 1, 0))
        self.assertIn('took more than', self.checks.failures[0][2])

    def test_program_is_missing(self):
        run_checks.cmocka(self.checks, '/nonexistent/program', {})
        self.assertEqual(self.checks.counts['failed'], 1)

    def python(self, text):
        path = os.path.join(self.folder.name, 'test_it.py')
        with open(path, 'w') as f:
            f.write(text)
        run_checks.python_file(self.checks, path)
        return tuple(self.checks.counts[k]
                     for k in ('passed', 'failed', 'skipped'))

    def test_python_counts(self):
        self.assertEqual(self.python(
            'import unittest\n'
            'class T(unittest.TestCase):\n'
            ' def test_a(self): pass\n'
            ' def test_b(self): self.fail("so")\n'
            ' def test_c(self): self.skipTest("why")\n'
            ' def test_d(self): 1/0\n'), (1, 2, 1))
        self.assertIn('T.test_b', self.checks.failures[0][3])
        self.assertEqual(self.checks.skips[0][2], 'why')

    def test_python_subtests(self):
        self.assertEqual(self.python(
            'import unittest\n'
            'class T(unittest.TestCase):\n'
            ' def test_a(self):\n'
            '  for i in 1, 2, 3:\n'
            '   with self.subTest(i=i): self.assertEqual(i, 2)\n'),
            (0, 2, 0))

    def test_python_class_setup(self):
        self.assertEqual(self.python(
            'import unittest\n'
            'class T(unittest.TestCase):\n'
            ' @classmethod\n'
            ' def setUpClass(cls): raise OSError("no")\n'
            ' def test_a(self): pass\n'), (0, 1, 0))

    def test_python_without_tests(self):
        self.assertEqual(self.python('import unittest\n'), (0, 1, 0))

    def test_python_does_not_load(self):
        self.assertEqual(self.python('import nonesuch\n'), (0, 1, 0))

    def counting(self, text):
        path = self.script(text)
        run_checks.program_that_counts(self.checks, 'it', [path], 'again', 30)
        return tuple(self.checks.counts[k]
                     for k in ('passed', 'failed', 'skipped'))

    def test_counting_program(self):
        self.assertEqual(self.counting(
            'echo "FAILED  a.b"; echo "    why"; echo "    rerun: x a.b";'
            'echo "unexpected error: c"; echo "unexpected pass: d (e)";'
            'echo "skip f: g"; echo "known failure h: i";'
            'echo 7 passed, 2 failed, 5 skipped; exit 1'), (7, 2, 5))
        self.assertEqual([f[1:] for f in self.checks.failures],
                         [('a.b', 'why', 'x a.b'), ('c', 'error', 'again')])
        self.assertEqual([s[1:4:2] for s in self.checks.skips],
                         [('f', 1), ('h', 1), ('it', 3)])

    def test_counting_program_dies(self):
        self.assertEqual(self.counting('echo hello; exit 2'), (0, 1, 0))
        self.assertIn('hello', self.checks.failures[0][2])

    def test_counting_program_hides_a_failure(self):
        self.assertEqual(self.counting(
            'echo 7 passed, 1 failed, 0 skipped; exit 1'), (7, 1, 0))
        self.assertEqual(self.counting(
            'echo 7 passed, 0 failed, 0 skipped; exit 1'), (14, 2, 0))

    def test_closing_line(self):
        self.checks.passed(3)
        self.checks.failed('x', 'y', 'z')
        self.checks.skipped('a', 'b', 2)
        run_checks.report(self.checks, 61)
        lines = self.said.getvalue().splitlines()
        self.assertEqual(lines[-1], '3 passed, 1 failed, 2 skipped')
        self.assertIn('      rerun: z', lines)


if __name__ == '__main__':
    unittest.main()
