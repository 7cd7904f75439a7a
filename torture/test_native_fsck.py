#!/usr/bin/python3
# fsck.ntvfs as an administrator meets it: exit statuses, locks, repairs.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it finds is tested in ntvfs_native/tests/test_check.c."""

import os
import re
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.join(TOP, 'bin')


class FsckTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='fsck', dir='/dev/shm')
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.image = os.path.join(self.folder, 'image')
        self.run_tool('mkfs.ntvfs', '--size', '8M', '--label', 'a volume',
                      '--segment-directory', self.folder, self.image,
                      expected=0)

    def run_tool(self, name, *arguments, expected):
        result = subprocess.run([os.path.join(BIN, name)] + list(arguments),
                                stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True,
                                stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual(result.returncode, expected, result.stdout)
        return result.stdout

    def fsck(self, *arguments, expected):
        return self.run_tool('fsck.ntvfs', '--segment-directory', self.folder,
                             *arguments, self.image, expected=expected)

    def damage(self, offset, mask=0xff):
        with open(self.image, 'r+b') as f:
            f.seek(offset)
            byte = f.read(1)[0]
            f.seek(offset)
            f.write(bytes([byte ^ mask]))

    def read(self):
        with open(self.image, 'rb') as f:
            return f.read()

    def test_sound(self):
        before = self.read()
        self.assertIn('sound', self.fsck(expected=0))
        self.assertEqual(self.fsck('--quiet', expected=0), '')
        self.assertEqual(self.read(), before)

    def test_damaged_super_block_is_found_and_repaired(self):
        self.damage(24, 1)  # the time it was made
        before = self.read()
        output = self.fsck(expected=4)
        self.assertIn('super-damaged', output)
        self.assertIn('nothing was changed', output)
        self.assertEqual(self.read(), before)
        self.assertIn('repaired', self.fsck('--repair', expected=1))
        self.fsck(expected=0)
        dump = self.run_tool('ntvfs-dump', self.image, 'super', expected=0)
        self.assertIn('a volume', dump)

    def test_damage_beyond_repair_is_left_alone(self):
        for slot in (1, 2):
            self.damage(slot * 4096 + 100)
        before = self.read()
        self.assertIn('root-none', self.fsck('-y', expected=4))
        self.assertEqual(self.read(), before)

    def test_no_volume(self):
        with open(self.image, 'r+b') as f:
            f.write(bytes(4096))
        self.assertIn('not an ntvfs volume', self.fsck(expected=8))
        self.image = os.path.join(self.folder, 'nothing')
        self.assertIn('No such file', self.fsck(expected=8))

    def test_wrong_command_line(self):
        self.run_tool('fsck.ntvfs', expected=16)
        self.run_tool('fsck.ntvfs', '--nonsense', self.image, expected=16)
        self.assertIn('Usage', self.run_tool('fsck.ntvfs', '--help',
                                             expected=0))

    def test_the_document_lists_every_finding(self):
        with open(os.path.join(TOP, 'ntvfs_native', 'check_report.c')) as f:
            source = re.findall(r'\[NV_FINDING_\w+\] = \{"([a-z0-9-]+)", '
                                r'(\d+),\s*"([^"]+)"\}', f.read())
        with open(os.path.join(TOP, 'docs', 'native-design.md')) as f:
            text = f.read()
        self.assertGreater(len(source), 40)
        for name, invariant, meaning in source:
            self.assertRegex(text, r'\| %s \| %s \| (yes)? ?\| %s \|' % (
                re.escape(name), 'I' + invariant if invariant != '0' else '',
                re.escape(meaning)))


if __name__ == '__main__':
    unittest.main()
