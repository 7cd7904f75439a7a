#!/usr/bin/python3
# smbd killed in the middle of an operation: old or new, nothing between (B55).
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The request is sent, and the smbd process that serves the connection gets
SIGKILL a random time later; then a new connection looks at what there is.
NTVFS_CRASH_ROUNDS sets the rounds of each operation (20), and
NTVFS_CRASH_SEED repeats a run's times."""

import os
import random
import signal
import struct
import sys
import time

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
import stored
from impacket.smb3structs import SMB2_SET_INFO, SMB2_WRITE
from smb2_client import filetime

ROUNDS = int(os.environ.get('NTVFS_CRASH_ROUNDS', '20'))
SEED = int(os.environ.get('NTVFS_CRASH_SEED') or
           random.SystemRandom().randrange(1 << 31))


class Crash(smb_test.SmbTest):

    def setUp(self):
        smb_test.SmbTest.setUp(self)
        self.random = random.Random('%d %s' % (SEED, self._testMethodName))

    def servers(self):
        """Every smbd that has become a user."""
        main = self.env.smbd.pid()
        found = []
        for pid in self.env.smbd.pids():
            try:
                with open('/proc/%d/status' % pid) as f:
                    uids = [line for line in f if line.startswith('Uid:')]
            except OSError:
                continue
            if pid != main and uids[0].split()[2] != '0':
                found.append(pid)
        return found

    def kill(self, pids):
        """SIGKILL; returns when they are gone: one may be in a system call,
        which it still completes."""
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 10
        while any(os.path.exists('/proc/%d' % pid) for pid in pids):
            self.assertLess(time.monotonic(), end, 'smbd outlives SIGKILL')
            time.sleep(0.001)

    def wait(self):
        """Most operations take less than a millisecond; some wait for a
        disk. Without sleep, which takes longer than many of them."""
        longest = self.random.choice((0.0001, 0.0004, 0.0015))
        end = time.perf_counter() + self.random.random() * longest
        while time.perf_counter() < end:
            pass

    def set_info(self, handle, info_class, buffer, info_type=smb.INFO_FILE,
                 additional=0):
        """A SET_INFO whose answer nobody waits for."""
        body = struct.pack('<HBBIHHI', 33, info_type, info_class,
                           len(buffer), smb.HEADER + 32, 0, additional)
        self.victim.client.send_only(self.victim.tid, SMB2_SET_INFO,
                                     body + handle.fid + buffer)

    def write(self, handle, data, offset=0):
        body = struct.pack('<HHIQ', 49, smb.HEADER + 48, len(data), offset)
        body += handle.fid + struct.pack('<IIHHI', 0, 0, 0, 0, 0) + data
        self.victim.client.send_only(self.victim.tid, SMB2_WRITE, body)

    def rounds(self, prepare, send, check):
        """prepare(tree); send(tree), then the kill; check(tree)."""
        try:
            for _ in range(ROUNDS):
                self.tree = self.connect()
                prepare(self.tree)
                self.victim = self.connect()
                self.victim.list(self.dir)
                pids = self.servers()
                send(self.victim)
                self.wait()
                self.kill(pids)
                for client in self.clients:
                    client.close()
                self.clients = []
                self.tree = self.connect()
                check(self.tree)
        except BaseException:
            print('    seed: NTVFS_CRASH_SEED=%d' % SEED)
            raise

    def test_B55_rename_with_replace(self):
        old, new = self.path('old'), self.path('new')

        def prepare(tree):
            tree.put(old, b'O' * 5000)
            tree.put(new, b'N' * 3000)
            tree.put(old + ':s', b'o', disposition=smb.OPEN_IF)
            tree.put(new + ':s', b'n', disposition=smb.OPEN_IF)

        def send(tree):
            h = tree.open(new, access=smb.DELETE | smb.FILE_READ_ATTRIBUTES)
            raw = old.encode('utf-16le')
            self.set_info(h, 10, struct.pack('<B7xQI', 1, 0, len(raw)) + raw)

        def check(tree):
            content = tree.get(old)
            if content == b'O' * 5000:
                self.assertEqual(tree.get(new), b'N' * 3000)
                self.assertEqual(tree.get(old + ':s'), b'o')
                self.assertEqual(tree.get(new + ':s'), b'n')
            else:
                self.assertEqual(content, b'N' * 3000)
                self.assertEqual(tree.get(old + ':s'), b'n')
                self.assertFalse(tree.exists(new))

        self.rounds(prepare, send, check)

    def test_B55_stream_that_becomes_the_main_data(self):
        """The data are in the one place or in the other, or in both."""
        self.backend_is('posix', 'native')
        path = self.path('f')
        data = bytes(i * 7 % 251 for i in range(300000))

        def prepare(tree):
            if tree.exists(path):
                tree.remove(path)
            tree.put(path + ':s', data, disposition=smb.CREATE)

        def send(tree):
            h = tree.open(path + ':s', access=smb.DELETE)
            raw = '::$DATA'.encode('utf-16le')
            self.set_info(h, 10, struct.pack('<B7xQI', 1, 0, len(raw)) + raw)

        def check(tree):
            main = tree.get(path)
            if tree.exists(path + ':s'):
                self.assertEqual(tree.get(path + ':s'), data)
                self.assertTrue(data.startswith(main))
            else:
                self.assertEqual(main, data)

        self.rounds(prepare, send, check)

    def test_B55_security_descriptor(self):
        path = self.path('f')

        def sddl(count):
            return stored.descriptor(
                'D:P(A;;FA;;;WD)' + ''.join(
                    '(A;;FR;;;S-1-5-21-1-2-3-%d)' % i for i in range(count)))

        def prepare(tree):
            tree.put(path, b'data')
            with tree.open(path, access=smb.ALL_ACCESS) as h:
                h.set_security(sddl(2))

        def send(tree):
            h = tree.open(path, access=smb.WRITE_DAC)
            self.set_info(h, 0, sddl(40), smb.INFO_SECURITY, smb.DACL)

        def check(tree):
            with tree.open(path, access=smb.READ_CONTROL) as h:
                count = len(stored.parse_descriptor(h.security()).dacl.aces)
            self.assertIn(count, (3, 41))
            self.assertEqual(tree.get(path), b'data')

        self.rounds(prepare, send, check)

    def test_B55_times_and_attributes(self):
        """One request: all of it or nothing of what one blob holds."""
        path = self.path('f')

        def prepare(tree):
            tree.put(path, b'data')
            tree.set_basic(path, create=filetime(2001),
                           attributes=smb.HIDDEN)

        def send(tree):
            h = tree.open(path, access=smb.FILE_WRITE_ATTRIBUTES)
            self.set_info(h, 4, struct.pack(
                '<qqqqII', filetime(2011), 0, filetime(2012), 0,
                smb.SYSTEM, 0))

        def check(tree):
            basic = tree.basic(path)
            self.assertIn(basic.attributes, (smb.HIDDEN, smb.SYSTEM))
            self.assertIn(basic.create, (filetime(2001), filetime(2011)))
            self.assertEqual(tree.get(path), b'data')
            tree.remove(path)

        self.rounds(prepare, send, check)

    def stream_write(self, old, new):
        path = self.path('f')

        def prepare(tree):
            tree.put(path, b'data')
            tree.put(path + ':s', old, disposition=smb.OPEN_IF)
            with tree.open(path + ':s') as h:
                h.set_end_of_file(len(old))

        def send(tree):
            h = tree.open(path + ':s', access=smb.FILE_WRITE_DATA)
            self.write(h, new)

        def check(tree):
            self.assertIn(tree.get(path + ':s'),
                          (old, new, new + old[len(new):]))
            self.assertEqual(tree.get(path), b'data')
            self.assertEqual(tree.names(self.dir), ['f'])

        self.rounds(prepare, send, check)

    def test_B55_small_stream(self):
        self.stream_write(b'o' * 1000, b'n' * 900)

    def test_B55_stream_that_outgrows_its_xattr(self):
        self.backend_is('posix', 'native')
        self.stream_write(b'o' * 1000, b'n' * 65536)

    def test_B55_stream_rename(self):
        path = self.path('f')
        data = b's' * (1000 if self.env.backend == 'stock' else 100000)

        def prepare(tree):
            tree.put(path, b'data')
            tree.put(path + ':a', data, disposition=smb.OPEN_IF)

        def send(tree):
            h = tree.open(path + ':a', access=smb.DELETE)
            raw = ':b'.encode('utf-16le')
            self.set_info(h, 10, struct.pack('<B7xQI', 1, 0, len(raw)) + raw)

        def check(tree):
            with tree.open(path, access=smb.FILE_READ_ATTRIBUTES) as h:
                names = sorted(n for n in h.streams() if n != '::$DATA')
            self.assertIn(names, ([':a:$DATA'], [':b:$DATA']))
            self.assertEqual(tree.get(path + names[0][:2]), data)
            tree.remove(path)

        self.rounds(prepare, send, check)

    def test_B55_delete(self):
        """A file with streams: there with all of them, or gone."""
        path = self.path('f')
        data = b's' * (1000 if self.env.backend == 'stock' else 100000)

        def prepare(tree):
            tree.put(path, b'data')
            tree.put(path + ':a', data, disposition=smb.OPEN_IF)

        def send(tree):
            h = tree.open(path, access=smb.DELETE)
            self.set_info(h, 13, b'\1')
            body = struct.pack('<HHI', 24, 0, 0) + h.fid
            tree.client.send_only(tree.tid, smb.SMB2_CLOSE, body)

        def check(tree):
            # A disposition whose holder died is carried out at the close
            # of the next opener.
            try:
                self.assertEqual(tree.get(path), b'data')
                self.assertEqual(tree.get(path + ':a'), data)
                tree.remove(path)
            except smb.NTError as e:
                self.assertEqual(smb.status_name(e.status),
                                 'OBJECT_NAME_NOT_FOUND')
            self.assertEqual(tree.names(self.dir), [])
            tree.put(path, b'again')
            with tree.open(path, access=smb.FILE_READ_ATTRIBUTES) as h:
                self.assertEqual(list(h.streams()), ['::$DATA'])
            tree.remove(path)

        self.rounds(prepare, send, check)

    def test_B55_new_file_in_the_inode_of_one_whose_deleter_died(self):
        """smbd's record of the dead process names the file by its id; the
        next file must not inherit the delete that was pending."""
        path, local = self.path('f'), self.local('f')
        for _ in range(ROUNDS):
            self.tree = self.connect()
            self.tree.put(path, b'old')
            inode = os.stat(local).st_ino
            victim = self.connect()
            handle = victim.open(path, access=smb.DELETE)
            handle.set_disposition(True)
            self.kill(self.servers())
            for client in self.clients:
                client.close()
            self.clients = []
            # The dead process may have come as far as this.
            os.unlink(local)
            self.tree = self.connect()
            self.tree.put(path, b'new')
            self.assertTrue(self.tree.exists(path),
                            'the new file is gone' if not
                            os.path.exists(local) else '')
            self.assertEqual(self.tree.get(path), b'new')
            if os.stat(local).st_ino == inode:
                return
            self.tree.remove(path)
        self.skipTest('this file system did not give the inode again')

    def test_B55_new_folder_in_the_inode_of_one_whose_deleter_died(self):
        path, local = self.path('d'), self.local('d')
        for _ in range(ROUNDS):
            self.tree = self.connect()
            self.tree.mkdir(path)
            inode = os.stat(local).st_ino
            victim = self.connect()
            handle = victim.open(path, access=smb.DELETE)
            handle.set_disposition(True)
            self.kill(self.servers())
            for client in self.clients:
                client.close()
            self.clients = []
            os.rmdir(local)
            self.tree = self.connect()
            self.tree.mkdir(path)
            self.assertTrue(self.tree.exists(path), 'the folder is gone')
            if os.stat(local).st_ino == inode:
                return
            self.tree.remove(path)
        self.skipTest('this file system did not give the inode again')

    def test_B55_end_of_file(self):
        path = self.path('f')

        def prepare(tree):
            tree.put(path, b'x' * 100000)

        def send(tree):
            h = tree.open(path, access=smb.FILE_WRITE_DATA)
            self.set_info(h, 20, struct.pack('<q', 10))

        def check(tree):
            self.assertIn(tree.get(path), (b'x' * 100000, b'x' * 10))

        self.rounds(prepare, send, check)


if __name__ == '__main__':
    smb_test.main()
