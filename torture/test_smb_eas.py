#!/usr/bin/python3
# Extended attributes over SMB (B47).
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import sys

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
from smb2_client import NTError


class Eas(smb_test.SmbTest):

    def put(self, name, data=b'data'):
        path = self.path(name)
        self.tree.put(path, data)
        return path

    def test_B47_set_and_get(self):
        with self.tree.open(self.put('f')) as h:
            h.set_eas([('FOO', b'bar')])
            self.assertEqual(h.eas(), [('FOO', b'bar')])
            self.assertEqual(h.ea_size(), 15)

    def test_B47_no_eas(self):
        with self.tree.open(self.put('f')) as h:
            self.assertEqual(h.eas(), [])
            self.assertEqual(h.ea_size(), 0)

    def test_B47_names_match_without_case(self):
        with self.tree.open(self.put('f')) as h:
            h.set_eas([('FOO', b'bar')])
            h.set_eas([('foo', b'other')])
            self.assertEqual(len(h.eas()), 1)
            self.assertEqual(h.eas()[0][1], b'other')

    def test_B47_zero_length_deletes(self):
        with self.tree.open(self.put('f')) as h:
            h.set_eas([('FOO', b'bar'), ('BAR', b'x')])
            h.set_eas([('foo', b'')])
            self.assertEqual(h.eas(), [('BAR', b'x')])
            h.set_eas([('BAR', b'')])
            self.assertEqual(h.eas(), [])
            self.assertEqual(h.ea_size(), 0)

    def test_B47_several_at_once(self):
        eas = [('E%d' % i, b'v' * i) for i in range(1, 6)]
        with self.tree.open(self.put('f')) as h:
            h.set_eas(eas)
            self.assertEqual(sorted(h.eas()), eas)

    def test_B47_size_by_handle_and_in_the_listing(self):
        path = self.put('f')
        for eas in ([('FOO', b'bar')], [('E%d' % i, b'v' * i)
                                        for i in range(1, 6)]):
            with self.tree.open(path) as h:
                h.set_eas(eas)
                size = h.ea_size()
            entry = [e for e in self.tree.list(self.dir)
                     if e.name == 'f'][0]
            self.assertEqual(entry.ea_size, size)

    def test_B47_on_a_directory(self):
        self.tree.mkdir(self.path('d'))
        with self.tree.open(self.path('d')) as h:
            h.set_eas([('FOO', b'bar')])
            self.assertEqual(h.eas(), [('FOO', b'bar')])

    def test_B47_at_create(self):
        path = self.path('f')
        with self.tree.create(path, eas=[('FOO', b'bar')]) as h:
            self.assertEqual(h.eas(), [('FOO', b'bar')])

    def test_B47_private_xattrs_do_not_show(self):
        path = self.put('f')
        self.tree.set_basic(path, attributes=smb.HIDDEN,
                            create=smb.filetime(2001))
        self.tree.put(path + ':s', b'stream', disposition=smb.OPEN_IF)
        self.tree.put(path + ':t', b'stream', disposition=smb.OPEN_IF)
        with self.tree.open(path, access=smb.ALL_ACCESS) as h:
            h.set_security(h.security())
            self.assertEqual(h.eas(), [])
            self.assertEqual(h.ea_size(), 0)

    def test_B47_private_names_are_refused_or_apart(self):
        """An EA with the name of a private xattr must not touch it."""
        path = self.put('f')
        self.tree.set_basic(path, attributes=smb.HIDDEN,
                            create=smb.filetime(2001))
        self.tree.put(path + ':s', b'stream', disposition=smb.OPEN_IF)
        self.tree.set_basic(path, attributes=smb.HIDDEN)
        for name in ('DOSATTRIB', 'dosattrib', 'DosStream.s:$DATA',
                     'DosAttrib', 'DosStreams', 'DosEAs', 'SAMBA_PAI'):
            with self.tree.open(path) as h:
                try:
                    h.set_eas([(name, b'junk')])
                except NTError:
                    continue
                self.assertIn((name.lower(), b'junk'),
                              [(n.lower(), v) for n, v in h.eas()])
        basic = self.tree.basic(path)
        self.assertEqual(basic.attributes, smb.HIDDEN)
        self.assert_time(basic.create, smb.filetime(2001), 'creation time')
        self.assertEqual(self.tree.get(path + ':s'), b'stream')

    def test_B47_overwrite_drops_eas(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.set_eas([('FOO', b'bar')])
        self.tree.put(path, b'new', disposition=smb.OVERWRITE)
        with self.tree.open(path) as h:
            self.assertEqual(h.eas(), [])

    def test_B47_survives_rename_and_write(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.set_eas([('FOO', b'bar')])
            h.write(b'more')
        self.tree.rename(path, self.path('g'))
        with self.tree.open(self.path('g')) as h:
            self.assertEqual(h.eas(), [('FOO', b'bar')])

    def test_B47_too_large_a_value(self):
        """Stored, or refused with what was there kept."""
        path = self.put('f')
        with self.tree.open(path) as h:
            h.set_eas([('KEPT', b'value')])
            try:
                h.set_eas([('BIG', b'x' * 60000)])
            except NTError as e:
                self.assertNotEqual(smb.status_name(e.status), 'DISK_FULL')
                self.assertEqual(h.eas(), [('KEPT', b'value')])
            else:
                self.assertEqual(dict(h.eas()),
                                 {'KEPT': b'value', 'BIG': b'x' * 60000})

    def test_B47_binary_values(self):
        value = bytes(range(256))
        with self.tree.open(self.put('f')) as h:
            h.set_eas([('BIN', value)])
            self.assertEqual(h.eas(), [('BIN', value)])

    def test_B47_local_xattr_is_an_ea(self):
        path = self.put('f')
        os.setxattr(self.local('f'), 'user.color', b'red')
        with self.tree.open(path) as h:
            self.assertEqual([(n.lower(), v) for n, v in h.eas()],
                             [('color', b'red')])

    def test_B47_refused_without_the_right(self):
        path = self.put('f')
        with self.tree.open(path, access=smb.FILE_READ_EA) as h:
            self.assert_status('ACCESS_DENIED', h.set_eas, [('FOO', b'x')])

    def test_B47_odd_names_are_refused(self):
        with self.tree.open(self.put('f')) as h:
            for name in ('a"b', 'a*b', 'a/b', 'a\\b', 'a:b'):
                try:
                    h.set_eas([(name, b'x')])
                except NTError:
                    continue
                self.fail('the name %r was accepted' % name)


if __name__ == '__main__':
    smb_test.main()
