#!/usr/bin/python3
# Names over SMB: lookup, wildcards, length, short names, listings, file ids.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import sys

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
from smb2_client import NTError


class Names(smb_test.SmbTest):

    def put(self, name, data=b''):
        path = self.path(name)
        self.tree.put(path, data)
        return path

    def test_folders_have_no_size(self):
        path = self.path('d')
        self.tree.mkdir(path)
        self.put('d\\f', b'data')
        with self.tree.open(path) as h:
            self.assertEqual(h.end_of_file(), 0)
        entry = [e for e in self.tree.list(self.dir) if e.name == 'd'][0]
        self.assertEqual(entry.size, 0)

    def test_file_as_it_was_is_not_there(self):
        """A share without snapshots does not give the live file for one."""
        path = self.put('f', b'now')
        stamp = smb.filetime(2020, 2, 3)
        twrp = smb.create_context(b'TWrp', stamp.to_bytes(8, 'little'))
        for disposition in smb.OPEN, smb.OPEN_IF, smb.OVERWRITE_IF:
            self.assert_status('OBJECT_NAME_NOT_FOUND', self.tree.open, path,
                               disposition=disposition, contexts=[twrp])
        self.assertEqual(self.tree.get(path), b'now')

    def file_id(self, path):
        with self.tree.open(path, access=smb.FILE_READ_ATTRIBUTES) as h:
            return h.internal_id()

    def listing(self):
        """The test's folder, open for listing it and nothing else."""
        return self.tree.open(self.dir, access=smb.FILE_READ_DATA |
                              smb.FILE_READ_ATTRIBUTES,
                              options=smb.DIRECTORY_FILE)

    # Lookup without regard to case.

    def test_case_is_ignored_and_kept(self):
        self.put('MiXed Case.TXT', b'data')
        for name in ('mixed case.txt', 'MIXED CASE.TXT', 'MiXed Case.TXT'):
            self.assertEqual(self.tree.get(self.path(name)), b'data')
        self.assertEqual(self.tree.names(self.dir), ['MiXed Case.TXT'])
        self.assert_status('OBJECT_NAME_COLLISION', self.tree.create,
                           self.path('MIXED case.txt'))

    def test_case_is_ignored_in_every_component(self):
        self.tree.mkdir(self.path('One'))
        self.tree.mkdir(self.path('One', 'Two'))
        self.tree.put(self.path('One', 'Two', 'Three'), b'x')
        self.assertEqual(self.tree.get(self.path('ONE', 'tWO', 'THREE')),
                         b'x')

    def test_case_beyond_ascii(self):
        self.put('\u00c4\u0416\u03a9', b'data')
        self.assertEqual(self.tree.get(self.path('\u00e4\u0436\u03c9')),
                         b'data')

    def test_rename_that_changes_only_the_case(self):
        self.put('name', b'data')
        self.tree.rename(self.path('name'), self.path('NAME'))
        self.assertEqual(self.tree.names(self.dir), ['NAME'])
        self.assertEqual(self.tree.get(self.path('name')), b'data')

    def test_missing_names_are_not_cached_too_long(self):
        """A miss, then a create by someone else, then a hit."""
        other = self.connect()
        for i in range(50):
            path = self.path('File%d' % i)
            self.assertFalse(self.tree.exists(path))
            other.put(path, b'x')
            self.assertTrue(self.tree.exists(self.path('fILE%d' % i)))
            other.remove(path)
            self.assertFalse(self.tree.exists(path))

    def test_local_changes_are_seen_at_once(self):
        for i in range(50):
            path = self.path('local%d' % i)
            local = self.local('LOCAL%d' % i)
            self.assertFalse(self.tree.exists(path))
            self.put_local('LOCAL%d' % i, b'x')
            self.assertTrue(self.tree.exists(path), i)
            os.rename(local, self.local('Moved%d' % i))
            self.assertFalse(self.tree.exists(path), i)
            self.assertTrue(self.tree.exists(self.path('mOVED%d' % i)), i)
            os.unlink(self.local('Moved%d' % i))
            self.assertFalse(self.tree.exists(self.path('moved%d' % i)), i)

    def test_lookup_in_a_full_directory(self):
        for i in range(300):
            self.put_local('Entry%04d' % i, str(i).encode())
        for i in range(0, 300, 7):
            self.assertEqual(self.tree.get(self.path('eNTRY%04d' % i)),
                             str(i).encode())
            self.assertFalse(self.tree.exists(self.path('none%04d' % i)))

    # B28: DOS wildcards as they are on the wire.

    def listed(self, pattern):
        return sorted(self.tree.names(self.dir, pattern))

    def test_B28_wildcards(self):
        for name in ('makefile', 'a.txt', 'b.tar.gz', 'ab'):
            self.put(name)
        for pattern, want in (
                ('*', ['a.txt', 'ab', 'b.tar.gz', 'makefile']),
                ('<', ['ab', 'makefile']),
                ('<.gz', ['b.tar.gz']),
                ('<.txt', ['a.txt']),
                ('a>', ['ab']),
                ('A.TXT', ['a.txt']),
                ('*.t*', ['a.txt', 'b.tar.gz']),
                ('??', ['ab'])):
            self.assertEqual(self.listed(pattern), want, pattern)

    def test_B28_no_match_is_no_such_file(self):
        self.put('a.txt')
        self.assert_status('NO_SUCH_FILE', self.tree.list, self.dir, '*.zip')

    def test_B28_no_match_after_a_match_is_no_more_files(self):
        self.put('a.txt')
        with self.listing() as h:
            h.query_directory('a*')
            self.assert_status('NO_MORE_FILES', h.query_directory, 'a*')

    # B32: 255 characters.

    def longest(self):
        with self.tree.open('') as h:
            return h.fs_attribute()[1]

    def test_B32_255_ascii_characters(self):
        name = 'n' * 255
        self.put(name, b'x')
        self.assertEqual(self.tree.names(self.dir), [name])

    def test_B32_256_characters(self):
        for character in 'n', '\u044f':
            self.assert_status('OBJECT_NAME_INVALID', self.put,
                               character * 256)

    def test_B32_limit_of_bytes(self):
        """ext4 and xfs hold 255 bytes: 127 characters of two bytes."""
        self.put('\u044f' * 127, b'x')
        self.assertEqual(self.tree.names(self.dir), ['\u044f' * 127])

    def test_B32_beyond_the_limit_of_bytes(self):
        name = '\u044f' * 128
        try:
            self.put(name, b'x')
        except NTError as e:
            self.assertIn(smb.status_name(e.status),
                          ('OBJECT_NAME_INVALID', 'NAME_TOO_LONG'))
            return
        self.assertEqual(self.tree.names(self.dir), [name])

    def test_B32_reported_length_is_true(self):
        """What the volume reports must work for plain names at least."""
        name = 'x' * self.longest()
        self.put(name, b'x')
        self.assertTrue(self.tree.exists(self.path(name)))

    # B34: short names.

    def test_B34_short_names(self):
        names = ('verylongfilename.txt', 'verylongfilename2.txt',
                 'verylongfilename3.text')
        for name in names:
            self.put(name, name.encode())
        shorts = {e.name: e.short for e in self.tree.list(self.dir)
                  if e.name in names}
        given = [short for short in shorts.values() if short]
        self.assertIn(len(given), (0, len(names)))
        self.assertEqual(len(set(given)), len(given), shorts)
        for name, short in shorts.items():
            if short:
                base, _, extension = short.partition('.')
                self.assertTrue(1 <= len(base) <= 8, short)
                self.assertTrue(len(extension) <= 3, short)
                self.assertEqual(self.tree.get(self.path(short)),
                                 name.encode())

    def test_B34_short_name_by_handle_equals_the_listing(self):
        path = self.put('verylongfilename.txt')
        entry = [e for e in self.tree.list(self.dir)
                 if e.name == 'verylongfilename.txt'][0]
        with self.tree.open(path) as h:
            self.assertEqual(h.alternate_name(), entry.short)

    def test_B34_three_letter_pattern(self):
        for name in ('x.xls', 'x.xlsx'):
            self.put(name)
        entries = {e.name: e for e in self.tree.list(self.dir, '<.xls')}
        if not entries['x.xls'].short and not any(
                e.short for e in self.tree.list(self.dir)):
            self.assertEqual(sorted(entries), ['x.xls'])
        else:
            self.assertIn('x.xls', entries)

    # B36: a listing while the directory changes.

    def test_B36_delete_while_listing(self):
        count = 1000
        for i in range(count):
            self.put_local('f%04d' % i)
        seen = []
        with self.listing() as h:
            while True:
                try:
                    page = h.query_directory('*', 4096)
                except NTError as e:
                    self.assertEqual(smb.status_name(e.status),
                                     'NO_MORE_FILES')
                    break
                for entry in page:
                    seen.append(entry.name)
                    if entry.name not in ('.', '..'):
                        self.tree.remove(self.path(entry.name))
        self.assertEqual(len(seen), len(set(seen)), 'an entry came twice')
        self.assertEqual(len(seen), count + 2)
        self.assertEqual(sorted(e.name for e in self.tree.list(self.dir)),
                         ['.', '..'])

    def test_B36_rename_while_listing(self):
        count = 500
        for i in range(count):
            self.put_local('f%04d' % i)
        seen = []
        with self.listing() as h:
            while True:
                try:
                    page = h.query_directory('*', 4096)
                except NTError as e:
                    self.assertEqual(smb.status_name(e.status),
                                     'NO_MORE_FILES')
                    break
                for entry in page:
                    if entry.name.startswith('f'):
                        seen.append(entry.name)
                        self.tree.rename(self.path(entry.name),
                                         self.path('z' + entry.name))
        self.assertEqual(len(seen), len(set(seen)), 'a name came twice')
        self.assertEqual(len(seen), count)

    def test_B36_restart_starts_over(self):
        for i in range(100):
            self.put_local('f%03d' % i)
        with self.listing() as h:
            h.query_directory('*', 2048)
            h.query_directory('*', 2048)
            names = [e.name for e in h.list('*', 4096)]
        self.assertEqual(len(names), 102)
        self.assertEqual(len(set(names)), 102)
        self.assertEqual(names[:2], ['.', '..'])

    def test_B36_one_entry_at_a_time(self):
        for i in range(20):
            self.put('f%02d' % i)
        names = []
        with self.listing() as h:
            while True:
                try:
                    page = h.query_directory('*', 4096, single=True)
                except NTError:
                    break
                self.assertEqual(len(page), 1)
                names.append(page[0].name)
        self.assertEqual(sorted(names), ['.', '..'] +
                         ['f%02d' % i for i in range(20)])

    def test_listing_tells_what_the_handle_tells(self):
        self.put('f', b'x' * 1234)
        self.tree.mkdir(self.path('d'))
        self.tree.set_basic(self.path('f'), attributes=smb.HIDDEN,
                            create=smb.filetime(2001),
                            write=smb.filetime(2002))
        with self.tree.open(self.path('f')) as h:
            h.set_eas([('FOO', b'bar')])
        entries = {e.name: e for e in self.tree.list(self.dir)}
        for name in 'f', 'd':
            with self.tree.open(self.path(name),
                                access=smb.FILE_READ_ATTRIBUTES |
                                smb.FILE_READ_EA) as h:
                basic = h.basic()
                entry = entries[name]
                self.assertEqual(entry.times(), basic.times(), name)
                self.assertEqual(entry.attributes, basic.attributes)
                self.assertEqual(entry.size, h.end_of_file())
                self.assertEqual(entry.file_id, h.internal_id())
                self.assertEqual(entry.ea_size, h.ea_size())

    # B37, B39: file ids.

    def test_B37_id_is_kept_by_rename_and_restart(self):
        path = self.put('f')
        before = self.file_id(path)
        self.assertNotEqual(before, 0)
        self.tree.rename(path, self.path('g'))
        self.assertEqual(self.file_id(self.path('g')), before)
        self.env.smbd.restart()
        self.tree = self.connect()
        self.assertEqual(self.file_id(self.path('g')), before)

    def test_B37_id_is_not_reused_soon(self):
        seen = set()
        for _ in range(300):
            path = self.put('f')
            number = self.file_id(path)
            self.assertNotIn(number, seen)
            seen.add(number)
            self.tree.remove(path)

    def test_B37_id_in_a_listing_is_the_id_by_handle(self):
        self.put('f')
        self.tree.mkdir(self.path('d'))
        for entry in self.tree.list(self.dir):
            if entry.name not in ('.', '..'):
                self.assertEqual(entry.file_id,
                                 self.file_id(self.path(entry.name)))

    def test_B39_ids_follow_the_object(self):
        for d in 'd1', 'd2':
            self.tree.mkdir(self.path(d))
        a = self.path('d1', 'a')
        self.tree.put(a)
        self.tree.put(self.path('d2', 'a'))
        self.assertNotEqual(self.file_id(a),
                            self.file_id(self.path('d2', 'a')))
        self.assertEqual(self.file_id(self.path('D1', 'A')),
                         self.file_id(a))
        with self.tree.open(a) as h:
            h.link(self.path('d2', 'b'))
        self.assertEqual(self.file_id(self.path('d2', 'b')),
                         self.file_id(a))

    def test_B39_stream_has_the_id_of_its_file(self):
        path = self.put('f')
        self.tree.put(path + ':s', b'x')
        self.assertEqual(self.file_id(path + ':s'), self.file_id(path))


if __name__ == '__main__':
    smb_test.main()
