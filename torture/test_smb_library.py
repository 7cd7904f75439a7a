#!/usr/bin/python3
# Samba's own client library against the share.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What file managers, backup programs and smbclient do on Linux."""

import errno
import os
import sys

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
from libsmbclient import Library
from smb2_client import filetime


class Client(smb_test.SmbTest):

    LIBRARY = None

    def setUp(self):
        smb_test.SmbTest.setUp(self)
        if Client.LIBRARY is None:
            Client.LIBRARY = Library()
        self.library = Client.LIBRARY
        self.library.use(self.env.smbd, self.SHARE)

    def fails(self, number, call, *arguments):
        try:
            call(*arguments)
        except OSError as e:
            self.assertEqual(errno.errorcode.get(e.errno, e.errno),
                             errno.errorcode[number])
            return
        self.fail('the call succeeded, expected ' + errno.errorcode[number])

    def test_write_read_rename_delete(self):
        data = os.urandom(300000)
        self.library.put(self.path('f'), data)
        self.assertEqual(self.library.get(self.path('f')), data)
        self.library.rename(self.path('f'), self.path('g'))
        self.assertEqual(self.library.get(self.path('G')), data)
        self.fails(errno.ENOENT, self.library.get, self.path('f'))
        self.library.unlink(self.path('g'))
        self.assertEqual(self.library.list(self.dir), {})

    def test_directories(self):
        self.library.mkdir(self.path('d'))
        self.fails(errno.EEXIST, self.library.mkdir, self.path('D'))
        self.library.put(self.path('d', 'f'), b'x')
        self.fails(errno.ENOTEMPTY, self.library.rmdir, self.path('d'))
        self.library.unlink(self.path('d', 'f'))
        self.library.rmdir(self.path('d'))
        self.assertEqual(self.library.list(self.dir), {})

    def test_times(self):
        self.library.put(self.path('f'), b'x')
        self.library.set_times(self.path('f'), 1015218367, 1049519228)
        entry = self.library.list(self.dir)['f']
        self.assertEqual(entry.access.seconds, 1015218367)
        self.assertEqual(entry.write.seconds, 1049519228)
        basic = self.tree.basic(self.path('f'))
        self.assert_time(basic.access,
                         smb.unix_to_filetime(1015218367), 'access time')
        self.assert_time(basic.write,
                         smb.unix_to_filetime(1049519228), 'write time')

    def test_creation_time_in_a_listing(self):
        self.library.put(self.path('f'), b'x')
        self.tree.set_basic(self.path('f'),
                            create=filetime(2001, 2, 3, 4, 5, 6, 1234567))
        entry = self.library.list(self.dir)['f']
        self.assertEqual(entry.birth.seconds, 981173106)
        self.assertEqual(entry.birth.nanoseconds, 123456700)

    def test_attributes(self):
        self.library.put(self.path('f'), b'x')
        for mode in (smb.HIDDEN, smb.SYSTEM | smb.HIDDEN, smb.READONLY,
                     smb.ARCHIVE):
            self.library.set_attribute(self.path('f'),
                                       'system.dos_attr.mode',
                                       '0x%x' % mode)
            self.assertEqual(self.tree.attributes(self.path('f')), mode)
            self.assertEqual(
                self.library.list(self.dir)['f'].attributes, mode)

    def test_read_only_is_respected(self):
        self.library.put(self.path('f'), b'x')
        self.tree.set_basic(self.path('f'), attributes=smb.READONLY)
        self.fails(errno.EACCES, self.library.put, self.path('f'), b'new')
        self.assertEqual(self.library.get(self.path('f')), b'x')

    def test_many_entries(self):
        for i in range(500):
            self.put_local('f%03d' % i, b'x' * i)
        entries = self.library.list(self.dir)
        self.assertEqual(len(entries), 500)
        for i in range(500):
            self.assertEqual(entries['f%03d' % i].size, i)

    def test_smbclient_sees_streams_and_short_forms(self):
        self.tree.put(self.path('f'), b'data')
        self.tree.put(self.path('f:note'), b'n' * 20,
                      disposition=smb.OPEN_IF)
        result = self.env.smbd.smbclient(
            self.SHARE, 'allinfo "%s"' % self.path('f'))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn('stream: [:note:$DATA], 20 bytes', result.stdout)
        self.assertIn('stream: [::$DATA], 4 bytes', result.stdout)


if __name__ == '__main__':
    smb_test.main()
