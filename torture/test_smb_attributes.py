#!/usr/bin/python3
# DOS attributes over SMB: exact, lasting, and respected.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import sys

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
import stored
from smb2_client import (ARCHIVE, CREATE, DELETE_ON_CLOSE, DIRECTORY, ENCRYPTED,
                         HIDDEN,
                         NORMAL, NOT_INDEXED, OFFLINE, OVERWRITE,
                         OVERWRITE_IF, READONLY, SUPERSEDE, SYSTEM, TEMPORARY)


class Attributes(smb_test.SmbTest):

    def put(self, name, data=b'abc', attributes=None):
        path = self.path(name)
        self.tree.put(path, data)
        if attributes is not None:
            self.tree.set_basic(path, attributes=attributes)
        return path

    def assert_attributes(self, path, want):
        got = self.tree.attributes(path)
        self.assertEqual(hex(got), hex(want), path)

    # B11: overwriting a hidden, system or read-only file.

    def overwrite(self, path, disposition, attributes):
        self.tree.open(path, disposition=disposition,
                       attributes=attributes,
                       access=smb.FILE_WRITE_DATA).close()

    def refused_overwrites(self, has, requests,
                           dispositions=(OVERWRITE, OVERWRITE_IF)):
        path = self.put('h', b'abc', has)
        for request in requests:
            for disposition in dispositions:
                self.assert_status('ACCESS_DENIED', self.overwrite, path,
                                   disposition, request)
        self.assertEqual(self.tree.get(path), b'abc')
        self.assert_attributes(path, has)

    def test_B11_hidden_refuses_an_overwrite_without_hidden(self):
        self.refused_overwrites(HIDDEN, (0, NORMAL, ARCHIVE, SYSTEM))

    def test_B11_system_refuses_an_overwrite_without_system(self):
        self.refused_overwrites(SYSTEM, (0, NORMAL, ARCHIVE, HIDDEN))

    def test_B11_hidden_and_system_want_both(self):
        self.refused_overwrites(HIDDEN | SYSTEM,
                                (0, NORMAL, HIDDEN, SYSTEM))

    def test_B11_readonly_refuses_every_overwrite(self):
        self.refused_overwrites(READONLY,
                                (0, NORMAL, READONLY, READONLY | ARCHIVE))

    def test_B11_hidden_refuses_a_supersede_without_hidden(self):
        self.refused_overwrites(HIDDEN, (0, NORMAL, ARCHIVE, SYSTEM),
                                (SUPERSEDE,))

    def test_B11_system_refuses_a_supersede_without_system(self):
        self.refused_overwrites(SYSTEM, (0, NORMAL, ARCHIVE, HIDDEN),
                                (SUPERSEDE,))

    def test_B11_readonly_refuses_a_supersede(self):
        self.refused_overwrites(READONLY, (0, READONLY), (SUPERSEDE,))

    def test_B11_hidden_accepts_an_overwrite_with_hidden(self):
        for disposition in (OVERWRITE, OVERWRITE_IF, SUPERSEDE):
            path = self.put('h%d' % disposition, b'abc', HIDDEN)
            self.overwrite(path, disposition, HIDDEN)
            self.assertEqual(self.tree.get(path), b'')
            self.assert_attributes(path, HIDDEN | ARCHIVE)

    def test_B11_system_accepts_an_overwrite_with_system(self):
        path = self.put('s', b'abc', SYSTEM)
        self.overwrite(path, OVERWRITE_IF, SYSTEM | HIDDEN)
        self.assertEqual(self.tree.get(path), b'')
        self.assert_attributes(path, SYSTEM | HIDDEN | ARCHIVE)

    # B12: NORMAL, zero, ARCHIVE.

    def test_B12_a_new_file_has_archive(self):
        path = self.put('f')
        self.assert_attributes(path, ARCHIVE)

    def test_B12_a_new_file_has_archive_on_the_disk(self):
        self.backend_is('posix')
        self.put('f')
        self.assertEqual(stored.dosattrib(self.local('f')).attributes,
                         ARCHIVE)

    def test_B12_normal_at_create_gives_archive(self):
        for attributes in (0, NORMAL, ARCHIVE):
            path = self.path('f%x' % attributes)
            self.tree.create(path, attributes=attributes).close()
            self.assert_attributes(path, ARCHIVE)

    def test_B12_attributes_at_create(self):
        for attributes in (HIDDEN, SYSTEM, HIDDEN | SYSTEM, READONLY):
            path = self.path('f%x' % attributes)
            self.tree.create(path, attributes=attributes).close()
            self.assert_attributes(path, attributes | ARCHIVE)

    def test_B12_set_normal_clears_all(self):
        path = self.put('f', attributes=HIDDEN | SYSTEM | ARCHIVE)
        self.tree.set_basic(path, attributes=NORMAL)
        self.assert_attributes(path, NORMAL)

    def test_B12_set_zero_changes_nothing(self):
        path = self.put('f', attributes=NORMAL)
        self.tree.set_basic(path, attributes=0)
        self.assert_attributes(path, NORMAL)
        self.tree.set_basic(path, attributes=HIDDEN)
        self.tree.set_basic(path, attributes=0)
        self.assert_attributes(path, HIDDEN)

    def test_B12_every_combination_reads_back(self):
        path = self.put('f')
        for bits in range(16):
            attributes = sum(flag for i, flag in enumerate(
                (READONLY, HIDDEN, SYSTEM, ARCHIVE)) if bits >> i & 1)
            self.tree.set_basic(path, attributes=attributes or NORMAL)
            self.assert_attributes(path, attributes or NORMAL)
            entry = [e for e in self.tree.list(self.dir)
                     if e.name == 'f'][0]
            self.assertEqual(entry.attributes, attributes or NORMAL)

    def test_B12_normal_never_stands_beside_another(self):
        path = self.put('f')
        self.tree.set_basic(path, attributes=NORMAL | HIDDEN)
        self.assert_attributes(path, HIDDEN)

    def test_B12_overwrite_sets_archive_again(self):
        for attributes in (0, NORMAL):
            path = self.put('f%x' % attributes, attributes=NORMAL)
            self.overwrite(path, OVERWRITE, attributes)
            self.assert_attributes(path, ARCHIVE)

    def test_B12_overwrite_takes_the_attributes_of_the_request(self):
        path = self.put('f', attributes=HIDDEN | ARCHIVE)
        self.overwrite(path, OVERWRITE, HIDDEN)
        self.assert_attributes(path, HIDDEN | ARCHIVE)

    def other_bits(self, bits):
        path = self.put('f')
        for attributes in (bits, bits | ARCHIVE | HIDDEN):
            self.tree.set_basic(path, attributes=attributes)
            self.assert_attributes(path, attributes)

    def test_temporary_reads_back(self):
        self.other_bits(TEMPORARY)

    def test_offline_reads_back(self):
        self.other_bits(OFFLINE)

    def test_temporary_and_not_indexed_at_create(self):
        for bits in TEMPORARY, NOT_INDEXED, OFFLINE:
            path = self.path('f%x' % bits)
            self.tree.create(path, attributes=bits).close()
            self.assert_attributes(path, bits | ARCHIVE)
            self.tree.rename(path, path + 'x')
            self.assert_attributes(path + 'x', bits | ARCHIVE)
            self.tree.set_basic(path + 'x', attributes=HIDDEN)
            self.assert_attributes(path + 'x', HIDDEN)

    def test_attributes_that_cannot_be_are_refused_at_create(self):
        path = self.path('f')
        for bit in (0, 1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 13):
            self.tree.create(path, attributes=1 << bit).close()
            self.tree.set_basic(path, attributes=NORMAL)
            self.tree.remove(path)
        for bit in (3, 6, *range(15, 32)):
            self.assert_status('INVALID_PARAMETER', self.tree.create, path,
                               attributes=1 << bit)
        self.assertFalse(self.tree.exists(path))

    def test_encrypted_is_refused_at_create(self):
        """Rather than to keep what was to be encrypted as it is."""
        path = self.path('f')
        self.assert_status('ACCESS_DENIED', self.tree.create, path,
                           attributes=ENCRYPTED)
        self.assertFalse(self.tree.exists(path))

    def test_not_indexed_reads_back(self):
        self.other_bits(NOT_INDEXED)

    def test_attributes_of_a_directory(self):
        path = self.path('d')
        self.tree.mkdir(path)
        self.assert_attributes(path, DIRECTORY)
        for bits in (HIDDEN, SYSTEM, READONLY, ARCHIVE,
                     HIDDEN | SYSTEM | READONLY):
            self.tree.set_basic(path, attributes=bits | DIRECTORY)
            self.assert_attributes(path, bits | DIRECTORY)
            self.tree.set_basic(path, attributes=bits)
            self.assert_attributes(path, bits | DIRECTORY)
        self.tree.set_basic(path, attributes=NORMAL)
        self.assert_attributes(path, DIRECTORY)

    def test_hidden_directory_at_create(self):
        path = self.path('d')
        self.tree.mkdir(path, attributes=HIDDEN)
        self.assert_attributes(path, HIDDEN | DIRECTORY)

    def test_read_only_directory_takes_new_files(self):
        path = self.path('d')
        self.tree.mkdir(path)
        self.tree.set_basic(path, attributes=READONLY)
        self.tree.put(path + '\\f', b'x')
        self.assertEqual(self.tree.get(path + '\\f'), b'x')

    def test_directory_bit_is_refused_on_a_file(self):
        path = self.put('f')
        self.assert_status('INVALID_PARAMETER', self.tree.set_basic, path,
                           attributes=DIRECTORY)

    def test_temporary_is_refused_on_a_directory(self):
        path = self.path('d')
        self.tree.mkdir(path)
        self.assert_status('INVALID_PARAMETER', self.tree.set_basic, path,
                           attributes=TEMPORARY)

    # Lasting. NTFS sets ARCHIVE on a renamed file, as smbtorture's
    # raw.sfileinfo.archive asserts too; a directory does not get it.

    def test_attributes_survive_rename(self):
        path = self.put('f', attributes=HIDDEN | SYSTEM)
        self.tree.rename(path, self.path('g'))
        self.assert_attributes(self.path('g'), HIDDEN | SYSTEM | ARCHIVE)

    def test_read_only_survives_rename(self):
        path = self.put('f', attributes=READONLY)
        self.tree.rename(path, self.path('g'))
        self.assert_attributes(self.path('g'), READONLY | ARCHIVE)

    def test_attributes_of_a_directory_survive_rename(self):
        self.tree.mkdir(self.path('d'))
        self.tree.set_basic(self.path('d'), attributes=HIDDEN | SYSTEM)
        self.tree.rename(self.path('d'), self.path('e'))
        self.assert_attributes(self.path('e'), HIDDEN | SYSTEM | DIRECTORY)

    def test_attributes_survive_a_write(self):
        path = self.put('f', attributes=HIDDEN)
        with self.tree.open(path) as h:
            h.write(b'more')
        self.assert_attributes(path, HIDDEN | ARCHIVE)

    def test_attributes_survive_local_chmod(self):
        path = self.put('f', attributes=HIDDEN | SYSTEM | ARCHIVE)
        local = self.local('f')
        os.chmod(local, 0o444)
        self.assert_attributes(path, HIDDEN | SYSTEM | ARCHIVE)
        os.chmod(local, 0o777)
        self.assert_attributes(path, HIDDEN | SYSTEM | ARCHIVE)

    def test_reading_invents_nothing(self):
        """A file put there by a local program gets no xattr by a look."""
        self.put_local('local', b'x')
        path = self.path('local')
        self.tree.attributes(path)
        self.tree.list(self.dir)
        self.assertEqual(
            [n for n in os.listxattr(self.local('local'))
             if n.startswith('user.')], [])

    def test_a_local_file_is_an_ordinary_file(self):
        self.put_local('local', b'x')
        self.assertIn(self.tree.attributes(self.path('local')),
                      (NORMAL, ARCHIVE))
        os.mkdir(self.local('d'))
        self.assert_attributes(self.path('d'), DIRECTORY)

    def test_a_stream_shows_its_files_attributes(self):
        path = self.put('f', attributes=HIDDEN)
        self.tree.put(path + ':s', b'x', disposition=smb.OPEN_IF)
        self.tree.set_basic(path, attributes=HIDDEN)
        self.assert_attributes(path + ':s', HIDDEN)
        self.tree.set_basic(path + ':s', attributes=SYSTEM)
        self.assert_attributes(path, SYSTEM)

    # B13: deleting a read-only file.

    def test_B13_disposition_on_read_only(self):
        path = self.put('r', attributes=READONLY)
        self.assert_status('CANNOT_DELETE', self.tree.remove, path)
        self.assertEqual(self.tree.get(path), b'abc')
        self.tree.set_basic(path, attributes=NORMAL)
        self.tree.remove(path)
        self.assertFalse(self.tree.exists(path))

    def test_B13_delete_on_close_on_read_only(self):
        path = self.put('r', attributes=READONLY)
        self.assert_status('CANNOT_DELETE', self.tree.open, path,
                           access=smb.DELETE, options=DELETE_ON_CLOSE)
        self.assertEqual(self.tree.get(path), b'abc')

    def test_B13_create_read_only_with_delete_on_close(self):
        path = self.path('r')
        self.assert_status('CANNOT_DELETE', self.tree.open, path,
                           disposition=CREATE, attributes=READONLY,
                           access=smb.ALL_ACCESS, options=DELETE_ON_CLOSE)
        self.assertFalse(self.tree.exists(path))

    def test_B13_hidden_and_system_can_be_deleted(self):
        for attributes in (HIDDEN, SYSTEM, HIDDEN | SYSTEM | ARCHIVE):
            path = self.put('f', attributes=attributes)
            self.tree.remove(path)
            self.assertFalse(self.tree.exists(path))

    def test_B13_read_only_directory(self):
        path = self.path('d')
        self.tree.mkdir(path)
        self.tree.set_basic(path, attributes=READONLY)
        self.assert_status('CANNOT_DELETE', self.tree.remove, path)
        self.assert_attributes(path, READONLY | DIRECTORY)

    # B15: replacing a read-only target.

    def test_B15_rename_onto_read_only(self):
        new = self.put('new', b'N')
        old = self.put('old', b'O', READONLY)
        self.assert_status('ACCESS_DENIED', self.tree.rename, new, old, True)
        self.assertEqual(self.tree.get(old), b'O')
        self.assertEqual(self.tree.get(new), b'N')
        self.assert_attributes(old, READONLY)

    def test_B15_link_onto_read_only(self):
        new = self.put('new', b'N')
        old = self.put('old', b'O', READONLY)
        with self.tree.open(new) as h:
            self.assert_status(('ACCESS_DENIED', 'CANNOT_DELETE'), h.link,
                               old, True)
        self.assertEqual(self.tree.get(old), b'O')

    def test_rename_onto_hidden_replaces_it(self):
        new = self.put('new', b'N')
        old = self.put('old', b'O', HIDDEN)
        self.tree.rename(new, old, True)
        self.assertEqual(self.tree.get(old), b'N')
        self.assert_attributes(old, ARCHIVE)

    def test_opening_read_only_for_write_is_refused(self):
        path = self.put('r', attributes=READONLY)
        self.assert_status('ACCESS_DENIED', self.tree.open, path,
                           access=smb.FILE_WRITE_DATA)

    def test_create_read_only_and_write_through_that_handle(self):
        path = self.path('r')
        with self.tree.create(path, attributes=READONLY,
                              access=smb.FILE_WRITE_DATA) as h:
            h.write(b'once')
        self.assertEqual(self.tree.get(path), b'once')
        self.assert_attributes(path, READONLY | ARCHIVE)

    def test_set_read_only_with_an_open_writer(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            self.tree.set_basic(path, attributes=READONLY)
            h.write(b'late')
        self.assertEqual(self.tree.get(path), b'late')


if __name__ == '__main__':
    smb_test.main()
