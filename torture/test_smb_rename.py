#!/usr/bin/python3
# Delete and rename over SMB.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import sys

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test


class Rename(smb_test.SmbTest):

    def put(self, name, data=b''):
        path = self.path(name)
        self.tree.put(path, data)
        return path

    # B41: delete-pending.

    def test_B41_name_stays_taken_until_the_last_close(self):
        path = self.put('f', b'data')
        h1 = self.tree.open(path)
        h2 = self.tree.open(path)
        h1.set_disposition(True)
        h1.close()
        for disposition in (smb.OPEN, smb.OPEN_IF, smb.OVERWRITE_IF,
                            smb.SUPERSEDE):
            self.assert_status('DELETE_PENDING', self.tree.open, path,
                               disposition=disposition)
        self.assertEqual(h2.read(4), b'data')
        self.assertTrue(os.path.exists(self.local('f')))
        h2.close()
        with self.tree.create(path) as h:
            self.assertEqual(h.end_of_file(), 0)

    def test_B41_cleared_disposition_revives_the_file(self):
        path = self.put('f', b'data')
        with self.tree.open(path) as h1, self.tree.open(path) as h2:
            h1.set_disposition(True)
            self.assertEqual(h2.standard()[3], 1)
            h2.set_disposition(False)
        self.assertEqual(self.tree.get(path), b'data')

    def test_B41_directory(self):
        path = self.path('d')
        self.tree.mkdir(path)
        h1 = self.tree.open(path)
        h2 = self.tree.open(path)
        h1.set_disposition(True)
        h1.close()
        self.assert_status('DELETE_PENDING', self.tree.open, path)
        h2.close()
        self.assertFalse(self.tree.exists(path))

    def test_B41_create_of_a_pending_name(self):
        path = self.put('f', b'data')
        with self.tree.open(path):
            self.tree.remove(path)
            self.assert_status('DELETE_PENDING', self.tree.create, path)

    def test_directory_with_entries_is_not_deleted(self):
        self.tree.mkdir(self.path('d'))
        self.put('d\\f')
        self.assert_status('DIRECTORY_NOT_EMPTY', self.tree.remove,
                           self.path('d'))
        self.assertTrue(self.tree.exists(self.path('d', 'f')))

    def test_delete_on_close(self):
        path = self.path('t')
        with self.tree.create(path, access=smb.ALL_ACCESS,
                              options=smb.DELETE_ON_CLOSE) as h:
            h.write(b'temporary')
            self.assertTrue(os.path.exists(self.local('t')))
        self.assertFalse(self.tree.exists(path))

    def test_delete_on_close_of_a_dropped_connection(self):
        """Also the file of a client that was switched off goes."""
        other = self.connect()
        path = self.path('t')
        other.create(path, access=smb.ALL_ACCESS,
                     options=smb.DELETE_ON_CLOSE).write(b'x')
        other.client.close()
        for _ in range(100):
            if not os.path.exists(self.local('t')):
                break
            self.tree.list(self.dir)
        self.assertFalse(os.path.exists(self.local('t')))

    def test_delete_of_one_hard_link(self):
        path = self.put('f', b'data')
        with self.tree.open(path) as h:
            h.link(self.path('g'))
            self.assertEqual(h.standard()[2], 2)
        self.tree.set_basic(path, attributes=smb.HIDDEN,
                            create=smb.filetime(2001))
        self.tree.remove(path)
        self.assertEqual(self.tree.get(self.path('g')), b'data')
        basic = self.tree.basic(self.path('g'))
        self.assertEqual(basic.attributes, smb.HIDDEN)
        self.assert_time(basic.create, smb.filetime(2001), 'creation time')

    # B43: directories as targets.

    def directories(self):
        for name in 's', 't', 'e':
            self.tree.mkdir(self.path(name))
        self.put('t\\x')

    def test_B43_onto_a_directory_without_replace(self):
        self.directories()
        self.assert_status('OBJECT_NAME_COLLISION', self.tree.rename,
                           self.path('s'), self.path('t'))
        self.assert_status('OBJECT_NAME_COLLISION', self.tree.rename,
                           self.path('s'), self.path('e'))

    def test_B43_onto_a_full_directory_with_replace(self):
        self.directories()
        self.assert_status('ACCESS_DENIED', self.tree.rename,
                           self.path('s'), self.path('t'), True)
        self.assertTrue(self.tree.exists(self.path('t', 'x')))

    def test_B43_onto_an_empty_directory_with_replace(self):
        self.directories()
        self.assert_status('ACCESS_DENIED', self.tree.rename,
                           self.path('s'), self.path('e'), True)
        self.assertTrue(self.tree.exists(self.path('s')))
        self.assertTrue(self.tree.exists(self.path('e')))

    def test_B43_file_onto_a_directory_with_replace(self):
        self.directories()
        self.put('f', b'data')
        self.assert_status(('ACCESS_DENIED', 'OBJECT_NAME_COLLISION'),
                           self.tree.rename, self.path('f'),
                           self.path('t'), True)
        self.assertEqual(self.tree.get(self.path('f')), b'data')

    # Renames in general.

    def test_rename_onto_a_file_without_replace(self):
        new, old = self.put('new', b'N'), self.put('old', b'O')
        self.assert_status('OBJECT_NAME_COLLISION', self.tree.rename, new,
                           old)
        self.assertEqual(self.tree.get(old), b'O')
        self.assertEqual(self.tree.get(new), b'N')

    def test_rename_onto_a_file_with_replace(self):
        new, old = self.put('new', b'N'), self.put('old', b'O')
        self.tree.set_basic(new, create=smb.filetime(2001),
                            write=smb.filetime(2002))
        self.tree.rename(new, old, True)
        self.assertEqual(self.tree.get(old), b'N')
        self.assertFalse(self.tree.exists(new))
        basic = self.tree.basic(old)
        self.assert_time(basic.create, smb.filetime(2001), 'creation time')
        self.assert_time(basic.write, smb.filetime(2002), 'write time')

    def test_rename_onto_an_open_file(self):
        new, old = self.put('new', b'N'), self.put('old', b'O')
        with self.tree.open(old):
            self.assert_status('ACCESS_DENIED', self.tree.rename, new, old,
                               True)
        self.assertEqual(self.tree.get(old), b'O')

    def test_rename_of_a_directory_with_an_open_file(self):
        self.tree.mkdir(self.path('d'))
        self.put('d\\f')
        with self.tree.open(self.path('d', 'f')):
            self.assert_status(('ACCESS_DENIED', 'SHARING_VIOLATION'),
                               self.tree.rename, self.path('d'),
                               self.path('e'))
        self.assertTrue(self.tree.exists(self.path('d', 'f')))

    def test_rename_into_another_directory(self):
        for name in 'a', 'b':
            self.tree.mkdir(self.path(name))
        path = self.put('a\\f', b'data')
        self.tree.set_basic(path, attributes=smb.HIDDEN,
                            create=smb.filetime(2001))
        self.tree.rename(path, self.path('b', 'g'))
        basic = self.tree.basic(self.path('b', 'g'))
        self.assertTrue(basic.attributes & smb.HIDDEN)
        self.assert_time(basic.create, smb.filetime(2001), 'creation time')
        self.assertEqual(self.tree.names(self.path('a')), [])

    def test_rename_into_a_missing_directory(self):
        path = self.put('f', b'data')
        self.assert_status('OBJECT_PATH_NOT_FOUND', self.tree.rename, path,
                           self.path('none', 'f'))
        self.assertEqual(self.tree.get(path), b'data')

    def test_rename_of_a_directory_keeps_what_is_in_it(self):
        self.tree.mkdir(self.path('d'))
        self.tree.mkdir(self.path('d', 'deep'))
        self.put('d\\deep\\f', b'data')
        with self.tree.open(self.path('d', 'deep', 'f')) as h:
            h.set_eas([('FOO', b'bar')])
        self.tree.rename(self.path('d'), self.path('e'))
        self.assertEqual(self.tree.get(self.path('e', 'deep', 'f')), b'data')
        with self.tree.open(self.path('e', 'deep', 'f')) as h:
            self.assertEqual(h.eas(), [('FOO', b'bar')])

    def test_rename_of_an_open_file_and_further_use(self):
        path = self.put('f', b'data')
        with self.tree.open(path) as h:
            h.rename(self.path('g'))
            h.write(b'more', 4)
            h.set_basic(attributes=smb.HIDDEN)
        self.assertEqual(self.tree.get(self.path('g')), b'datamore')
        self.assertEqual(self.tree.attributes(self.path('g')), smb.HIDDEN)

    def test_rename_asks_for_delete(self):
        rights = smb.ALL_ACCESS & ~smb.DELETE
        self.put('f', b'data')
        self.tree.mkdir(self.path('d'))
        self.tree.put(self.path('f:s'), b'stream')
        with self.tree.open(self.path('f:s'), access=rights) as h:
            self.assert_status('ACCESS_DENIED', h.rename, ':t')
        with self.tree.open(self.path('f:s'), access=smb.DELETE) as h:
            h.rename(':t')
        for name in 'f', 'd':
            with self.tree.open(self.path(name), access=rights) as h:
                self.assert_status('ACCESS_DENIED', h.rename,
                                   self.path('new'))
            with self.tree.open(self.path(name), access=smb.DELETE) as h:
                h.rename(self.path(name + '2'))

    def test_rename_into_a_folder_that_somebody_may_delete(self):
        """The other client is another process of smbd."""
        path = self.put('f', b'data')
        self.tree.mkdir(self.path('d'))
        other = self.connect()
        with other.open(self.path('d'), access=smb.ALL_ACCESS):
            self.assert_status('SHARING_VIOLATION', self.tree.rename, path,
                               self.path('d', 'f'))
        with other.open(self.path('d'), access=smb.FILE_READ_DATA):
            self.tree.rename(path, self.path('d', 'f'))

    def test_rename_into_a_folder_whose_opener_allows_no_write(self):
        path = self.put('f', b'data')
        self.tree.mkdir(self.path('d'))
        other = self.connect()
        share = smb.SHARE_READ | smb.SHARE_DELETE
        with other.open(self.path('d'), access=smb.FILE_READ_DATA,
                        share=share):
            self.assert_status('SHARING_VIOLATION', self.tree.rename, path,
                               self.path('d', 'f'))
        with other.open(self.path('d'), access=smb.FILE_READ_ATTRIBUTES,
                        share=share):
            self.tree.rename(path, self.path('d', 'f'))

    def test_rename_of_a_stream_below_an_open_folder(self):
        path = self.put('f', b'data')
        self.tree.put(path + ':a', b'aaa')
        with self.tree.open(self.dir, access=smb.ALL_ACCESS):
            self.assert_status('SHARING_VIOLATION', self.tree.rename,
                               path + ':a', path + ':b')
            self.tree.rename(path + ':a', ':b')
        self.assertEqual(self.tree.get(path + ':b'), b'aaa')

    def test_hundred_renames_end_in_one_file(self):
        path = self.put('n0', b'data')
        before = None
        for i in range(1, 101):
            self.tree.rename(path, self.path('n%d' % i))
            path = self.path('n%d' % i)
        before = self.tree.names(self.dir)
        self.assertEqual(before, ['n100'])


if __name__ == '__main__':
    smb_test.main()
