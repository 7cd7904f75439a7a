#!/usr/bin/python3
# Does bench/nbench-smb measure what it says?
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import os
import subprocess
import tempfile
import unittest

import private_smbd

BENCH = os.path.join(private_smbd.TOP, 'bench', 'nbench-smb')

# The language of dbench's client.txt; client1 stands for each client.
LOAD = r'''Deltree "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\f" 0x40 0x2 2 NT_STATUS_OK
WriteX 2 0 65536 65536 NT_STATUS_OK
WriteX 2 65536 65536 65536 NT_STATUS_OK
ReadX 2 0 65536 65536 NT_STATUS_OK
Close 2 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\f" 1004 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\g" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND
Unlink "\clients\client1\f" 6 NT_STATUS_OK
'''


class NbenchTest(unittest.TestCase):

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix='nbench', dir='/var/tmp')
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        os.chmod(self.folder, 0o755)
        self.load = os.path.join(self.folder, 'load')
        with open(self.load, 'w') as f:
            f.write(LOAD)

    def bench(self, *arguments):
        result = subprocess.run(
            [BENCH, '--loadfile', self.load, '--file-system', self.folder,
             '--seconds', '2', '--rounds', '1', '--clients', '2',
             *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=200)
        self.assertEqual(os.listdir(self.folder).count('load'), 1)
        self.assertEqual([name for name in os.listdir(self.folder)
                          if name.startswith('nbench-')], [])
        return result.returncode, result.stdout

    def test_all_configurations(self):
        path = os.path.join(self.folder, 'json')
        status, output = self.bench('--json', path)
        self.assertEqual(status, 0, output)
        with open(path) as f:
            told = json.load(f)
        self.assertEqual(sorted(told['summary']),
                         ['ntvfs-posix', 'stock-full', 'stock-plain'])
        for name, row in told['summary'].items():
            rate = row['median_mb_per_s']
            self.assertGreater(rate, 0)
            self.assertAlmostEqual(
                row['ratio_to_stock-full'],
                rate / told['summary']['stock-full']['median_mb_per_s'])
            self.assertRegex(output, r'(?m)^%s +%.1f' % (name, rate))

    def test_options_reach_smbd(self):
        status, output = self.bench(
            '--config', 'stock-plain',
            '--option-share', 'stock-plain:read only=yes')
        self.assertEqual(status, 1, output)
        self.assertIn('nbench-smb: smbtorture', output)

    def test_refusals(self):
        for arguments, reason in (
                (['--config', 'nonesuch'], 'no configuration nonesuch'),
                (['--option-share', 'x'], 'does not begin with'),
                (['--rounds', '0'], 'at least one'),
                (['--loadfile', '/nonexistent'], 'is not there')):
            with self.subTest(arguments=arguments):
                status, output = self.bench(*arguments)
                self.assertNotEqual(status, 0)
                self.assertIn(reason, output)


if __name__ == '__main__':
    unittest.main()
