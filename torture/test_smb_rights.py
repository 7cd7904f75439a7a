#!/usr/bin/python3
# What one who lacks a right may not do to streams, whatever mode bits say.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import sys

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
import stored
from smb2_client import DACL

LARGE = b'L' * 100000

# Everyone may list and read, the owner may do anything.
READ_ONLY = 'D:P(A;;FA;;;OW)(A;;FRFX;;;WD)'
# Others may see attributes and no more.
NO_DATA = 'D:P(A;;FA;;;OW)(A;;0x120080;;;WD)'


class StreamRights(smb_test.SmbTest):

    def setUp(self):
        super().setUp()
        self.other = self.connect(user='other')

    def make(self, name, sddl, streams):
        path = self.path(name)
        self.tree.put(path, b'main')
        for stream, data in streams.items():
            self.tree.put(path + ':' + stream, data)
        for target in (path, self.dir):
            with self.tree.open(target, access=smb.WRITE_DAC) as h:
                h.set_security(stored.descriptor(sddl), DACL)
        return path

    def overwriting(self, stream, data):
        path = self.make('f', READ_ONLY, {stream: data}) + ':' + stream
        for disposition in (smb.OVERWRITE, smb.OVERWRITE_IF, smb.SUPERSEDE):
            for access in (smb.FILE_READ_DATA, smb.FILE_READ_ATTRIBUTES):
                self.assert_status('ACCESS_DENIED', self.other.open, path,
                                   access=access, disposition=disposition)
                self.assertEqual(self.tree.get(path), data)
        self.assertEqual(self.other.get(path), data)

    def test_overwriting_small(self):
        self.overwriting('small', b'kept')

    def test_overwriting_large(self):
        self.overwriting('large', LARGE)

    def test_creating(self):
        path = self.make('f', READ_ONLY, {})
        for disposition in (smb.CREATE, smb.OPEN_IF, smb.OVERWRITE_IF,
                            smb.SUPERSEDE):
            for access in (smb.FILE_READ_DATA, smb.FILE_READ_ATTRIBUTES):
                self.assert_status('ACCESS_DENIED', self.other.open,
                                   path + ':new', access=access,
                                   disposition=disposition)
        with self.tree.open(path) as h:
            self.assertEqual(len(h.streams()), 1)

    def test_creating_on_a_directory(self):
        self.make('f', READ_ONLY, {})
        self.assert_status('ACCESS_DENIED', self.other.open,
                           self.dir + ':new',
                           access=smb.FILE_READ_ATTRIBUTES,
                           disposition=smb.CREATE)

    def test_creating_with_the_file(self):
        # what is inherited does not bind who creates
        with self.tree.open(self.dir, access=smb.WRITE_DAC) as h:
            h.set_security(stored.descriptor(
                'D:P(A;;FA;;;OW)(A;;0x1200af;;;WD)(A;OICIIO;FR;;;WD)'), DACL)
        with self.other.open(self.path('f:new'), disposition=smb.CREATE,
                             access=smb.FILE_WRITE_DATA) as h:
            h.write(b'data')
        self.assertEqual(self.tree.get(self.path('f:new')), b'data')

    def test_appending_is_enough(self):
        path = self.make('f', 'D:P(A;;FA;;;OW)(A;;FRFX;;;WD)(A;;0x4;;;WD)',
                         {'s': b'data'})
        with self.other.open(path + ':s', access=smb.FILE_APPEND_DATA) as h:
            h.write(b'more', 4)
        self.assertEqual(self.tree.get(path + ':s'), b'datamore')

    def nothing_allowed(self, stream, data):
        path = self.make('f', NO_DATA, {stream: data}) + ':' + stream
        for access in (smb.FILE_READ_DATA, smb.FILE_WRITE_DATA,
                       smb.FILE_APPEND_DATA, smb.DELETE):
            self.assert_status('ACCESS_DENIED', self.other.open, path,
                               access=access)
        with self.other.open(path, access=smb.FILE_READ_ATTRIBUTES) as h:
            self.assert_status('ACCESS_DENIED', h.read, 10)
            self.assert_status('ACCESS_DENIED', h.write_once, b'x')
            self.assert_status('ACCESS_DENIED', h.set_end_of_file, 0)
            self.assert_status('ACCESS_DENIED', h.rename, ':y', True)
            self.assert_status('ACCESS_DENIED', h.set_disposition, True)
        self.assertEqual(self.tree.get(path), data)

    def test_nothing_allowed_small(self):
        self.nothing_allowed('small', b'kept')

    def test_nothing_allowed_large(self):
        self.nothing_allowed('large', LARGE)


if __name__ == '__main__':
    sys.exit(smb_test.main())
