#!/usr/bin/python3
# Does ./quickstart do what it says, and say what it cannot do?
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything runs in a mount namespace where Samba's modules folder and
build/quickstart are copies: the machine's own modules, and a demonstration
server that somebody has running, are not touched.
"""

import os
import shlex
import socket
import subprocess
import tempfile
import unittest

import private_smbd

TOP = private_smbd.TOP
STATE = os.path.join(TOP, 'build', 'quickstart')


class QuickstartTest(unittest.TestCase):

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix='quickstart')
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.modules = private_smbd.modules_folder()
        os.makedirs(STATE, exist_ok=True)

    def run_private(self, script):
        """Run shell commands there; (exit status, output)."""
        quote = shlex.quote
        folder = tempfile.mkdtemp(dir=self.folder)
        copy = os.path.join(folder, 'modules')
        state = os.path.join(folder, 'state')
        setup = '\n'.join([
            'set -e',
            'mkdir %s %s' % (copy, state),
            'cp -a %s/. %s/' % (quote(self.modules), copy),
            'rm -f %s/ntvfs.so' % copy,
            'mount --bind %s %s' % (copy, quote(self.modules)),
            'mount --bind %s %s' % (state, quote(STATE)),
            'set +e',
            # The copies go with the namespace; smbd must not stay.
            'trap "./quickstart stop >/dev/null 2>&1" EXIT',
            'modules=%s' % quote(self.modules), ''])
        result = subprocess.run(
            ['unshare', '--mount', '--propagation', 'slave', '--', '/bin/sh',
             '-c', setup + script], cwd=TOP, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=300,
            env=private_smbd.system_environment())
        return result.returncode, result.stdout

    def test_twice_then_stop(self):
        port = private_smbd.free_port()
        first, second, stop, again, remove = (
            './quickstart --port %d' % port, './quickstart --port=%d' % port,
            './quickstart stop', './quickstart stop', './quickstart remove')
        status, output = self.run_private('\n'.join([
            first + ' || exit 1',
            '[ -f "$modules/ntvfs.so" ] || exit 2',
            second + ' || exit 3',
            stop + ' || exit 4',
            again + ' || exit 5',
            remove + ' || exit 6',
            '[ ! -e "$modules/ntvfs.so" ] || exit 7']))
        self.assertEqual(status, 0, output)
        self.assertEqual(output.count('[6/6]'), 2, output)
        self.assertNotIn('WRONG', output)
        self.assertIn('smbclient //127.0.0.1/posix -p %d -U demo%%demo' %
                      port, output)
        self.assertIn('\\\\127.0.0.1\\posix', output)
        self.assertIn('stopped smbd', output)
        self.assertIn('no server is running', output)
        self.assertIsNone(private_smbd.port_is_taken(port))

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            taken.listen()
            port = taken.getsockname()[1]
            status, output = self.run_private('./quickstart --port %d' % port)
        self.assertEqual(status, 1, output)
        self.assertIn('step 5, starting smbd, failed', output)
        self.assertIn('Address already in use', output)
        self.assertIn('what to do: free port %d' % port, output)

    def test_build_fails(self):
        broken = os.path.join(self.folder, 'broken.c')
        with open(broken, 'w') as f:
            f.write('this does not compile;\n')
        status, output = self.run_private(
            'mount --bind %s smbd/vfs_ntvfs.c && ./quickstart' % broken)
        self.assertEqual(status, 1, output)
        self.assertIn('step 3, build, failed', output)
        self.assertIn('vfs_ntvfs.c', output)
        self.assertIn('what to do:', output)

    def test_bad_arguments(self):
        for arguments in ('--port x', '--port', '--nonsense'):
            with self.subTest(arguments=arguments):
                status, output = self.run_private('./quickstart ' + arguments)
                self.assertNotEqual(status, 0)
                self.assertRegex(output, 'what to do|./quickstart ')


if __name__ == '__main__':
    unittest.main()
