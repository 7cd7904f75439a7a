#!/usr/bin/python3
# The sequences of requests that Windows programs send.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each test plays one program's requests in their order and then looks at
what a user would look at: content, times, attributes, streams, ACL."""

import sys

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
import stored
from smb2_client import filetime

ZONE = b'[ZoneTransfer]\r\nZoneId=3\r\nHostUrl=https://example.org/\r\n'

READ_ATTRIBUTES = smb.FILE_READ_ATTRIBUTES | smb.SYNCHRONIZE
GENERIC_READ = 0x120089
GENERIC_WRITE = 0x120116

SOURCE = (filetime(2015, 5, 5, 1, 2, 3, 1234567),
          filetime(2016, 6, 6, 2, 3, 4, 2345678),
          filetime(2017, 7, 7, 3, 4, 5, 3456789),
          filetime(2018, 8, 8, 4, 5, 6, 4567890))


class Windows(smb_test.SmbTest):

    def assert_times(self, path, want):
        basic = self.tree.basic(path)
        for what, got, value in zip(
                ('creation time', 'access time', 'write time'),
                basic.times(), want):
            self.assert_time(got, value, '%s of %s' % (what, path))

    # Explorer and CopyFileEx.

    def copy_file(self, path, data, streams=(), attributes=smb.ARCHIVE,
                  times=SOURCE):
        """CopyFileEx onto a share: the data, each stream, then the write
        time, then the attributes; it leaves the creation time."""
        with self.tree.open(path, access=GENERIC_READ | GENERIC_WRITE |
                            smb.DELETE | smb.WRITE_DAC,
                            disposition=smb.OVERWRITE_IF,
                            attributes=attributes,
                            options=smb.NON_DIRECTORY_FILE,
                            share=smb.SHARE_NONE) as h:
            h.fs_attribute()
            h.basic()
            h.set_end_of_file(len(data))
            for start in range(0, len(data), 65536):
                h.write_once(data[start:start + 65536], start)
            for name, content in streams:
                with self.tree.open(path + name,
                                    access=GENERIC_WRITE | smb.DELETE,
                                    disposition=smb.OVERWRITE_IF,
                                    attributes=attributes,
                                    options=smb.NON_DIRECTORY_FILE,
                                    share=smb.SHARE_READ |
                                    smb.SHARE_WRITE |
                                    smb.SHARE_DELETE) as s:
                    s.set_end_of_file(len(content))
                    s.write(content)
            h.set_basic(write=times[2])

    def test_explorer_copies_a_download(self):
        path = self.path('setup.exe')
        data = bytes(range(256)) * 2000
        # Explorer shares while it copies the streams of its own file.
        with self.tree.open(path, access=GENERIC_READ | GENERIC_WRITE |
                            smb.DELETE, disposition=smb.CREATE,
                            attributes=smb.ARCHIVE) as h:
            h.set_end_of_file(len(data))
            h.write(data)
            with self.tree.open(path + ':Zone.Identifier',
                                access=GENERIC_WRITE,
                                disposition=smb.OVERWRITE_IF) as s:
                s.set_end_of_file(len(ZONE))
                s.write(ZONE)
            h.set_basic(write=SOURCE[2], attributes=smb.ARCHIVE)
        self.assertEqual(self.tree.get(path), data)
        self.assertEqual(self.tree.get(path + ':Zone.Identifier'), ZONE)
        basic = self.tree.basic(path)
        self.assert_time(basic.write, SOURCE[2], 'write time')
        self.assertEqual(basic.attributes, smb.ARCHIVE)
        with self.tree.open(path, access=READ_ATTRIBUTES) as h:
            self.assertEqual(h.streams(), {
                '::$DATA': len(data),
                ':Zone.Identifier:$DATA': len(ZONE)})
        # "Unblock" in the file's properties deletes the stream.
        self.tree.remove(path + ':Zone.Identifier')
        basic = self.tree.basic(path)
        self.assertEqual(self.tree.get(path), data)

    def test_a_download_keeps_its_times(self):
        path = self.path('doc.txt')
        self.tree.put(path, b'data')
        self.tree.put(path + ':Zone.Identifier', ZONE)
        self.tree.set_basic(path, *SOURCE)
        self.assertEqual(self.tree.get(path + ':Zone.Identifier'), ZONE)
        self.assert_times(path, SOURCE)

    def test_copy_of_a_read_only_file(self):
        """The handle that created it READONLY goes on writing; the times
        are set at the end through it."""
        path = self.path('readonly.dat')
        data = b'x' * 200000
        self.copy_file(path, data, attributes=smb.READONLY | smb.ARCHIVE)
        self.assertEqual(self.tree.get(path), data)
        basic = self.tree.basic(path)
        self.assertEqual(basic.attributes, smb.READONLY | smb.ARCHIVE)
        self.assert_time(basic.write, SOURCE[2], 'write time')
        # A second copy over it must fail and leave it.
        self.assert_status('ACCESS_DENIED', self.copy_file, path, b'other',
                           attributes=smb.ARCHIVE)
        self.assertEqual(self.tree.get(path), data)

    def test_copy_of_a_hidden_system_file(self):
        path = self.path('desktop.ini')
        bits = smb.HIDDEN | smb.SYSTEM | smb.ARCHIVE
        self.copy_file(path, b'[.ShellClassInfo]\r\n', attributes=bits)
        self.assertEqual(self.tree.attributes(path), bits)
        self.copy_file(path, b'[.ShellClassInfo]\r\nnew', attributes=bits)
        self.assertEqual(self.tree.get(path), b'[.ShellClassInfo]\r\nnew')
        self.assertEqual(self.tree.attributes(path), bits)

    # Office.

    def office_save(self, name, content):
        """Word's safe save: write a temporary file, move the document out
        of the way, move the temporary file in, delete the old one; the new
        file gets the document's creation time and descriptor."""
        document, new = self.path(name), self.path('ED23A1.tmp')
        old = self.path('9C0F11.tmp')
        with self.tree.open(document, access=READ_ATTRIBUTES |
                            smb.READ_CONTROL | smb.FILE_READ_EA) as h:
            before = h.basic()
            descriptor = h.security()
        with self.tree.open(new, access=GENERIC_READ | GENERIC_WRITE |
                            smb.DELETE | smb.WRITE_DAC,
                            disposition=smb.CREATE) as h:
            h.set_allocation(len(content))
            for start in range(0, len(content), 4096):
                h.write(content[start:start + 4096], start)
            h.set_end_of_file(len(content))
            h.flush()
            h.set_security(descriptor)
            h.set_basic(create=before.create, attributes=before.attributes)
        with self.tree.open(document, access=smb.DELETE |
                            READ_ATTRIBUTES) as h:
            h.rename(old)
        with self.tree.open(new, access=smb.DELETE | READ_ATTRIBUTES) as h:
            h.rename(document)
        self.tree.remove(old)
        return before, descriptor

    def test_office_safe_save(self):
        document = self.path('Report.docx')
        self.tree.put(document, b'version 1')
        self.tree.set_basic(document, *SOURCE)
        with self.tree.open(document, access=smb.ALL_ACCESS) as h:
            me = stored.parse_descriptor(h.security()).owner_sid
            h.set_security(stored.descriptor(
                'D:P(A;;FA;;;%s)(A;;FR;;;WD)' % me))
        for version in range(2, 5):
            content = b'version %d ' % version * 5000
            before, descriptor = self.office_save('Report.docx', content)
            self.assertEqual(self.tree.get(document), content)
            basic = self.tree.basic(document)
            self.assert_time(basic.create, SOURCE[0], 'creation time')
            self.assert_now(basic.write, 'write time')
            with self.tree.open(document, access=smb.READ_CONTROL) as h:
                self.assertEqual(h.security(), descriptor)
        self.assertEqual(self.tree.names(self.dir), ['Report.docx'])

    def test_office_lock_file(self):
        """~$name: hidden, deleted with its handle."""
        path = self.path('~$port.docx')
        with self.tree.create(path, access=GENERIC_READ | GENERIC_WRITE |
                              smb.DELETE, attributes=smb.HIDDEN,
                              share=smb.SHARE_READ,
                              options=smb.DELETE_ON_CLOSE) as h:
            h.write(b'\x04User' + b' ' * 157)
            self.assertEqual(self.tree.attributes(path),
                             smb.HIDDEN | smb.ARCHIVE)
            self.assertEqual(self.connect().get(path)[:5], b'\x04User')
            self.assert_status('SHARING_VIOLATION', self.tree.open, path,
                               access=smb.FILE_WRITE_DATA)
        self.assertFalse(self.tree.exists(path))

    def test_excel_replaces_by_rename(self):
        """Excel: a file without extension, delete the old, rename."""
        book = self.path('Book.xlsx')
        self.tree.put(book, b'old book')
        self.tree.set_basic(book, *SOURCE)
        new = self.path('8A1B2C3D')
        self.tree.put(new, b'new book', disposition=smb.CREATE)
        with self.tree.open(new) as h:
            h.set_basic(create=SOURCE[0])
        self.tree.rename(new, book, True)
        self.assertEqual(self.tree.get(book), b'new book')
        self.assert_time(self.tree.basic(book).create, SOURCE[0],
                         'creation time')
        self.assertEqual(self.tree.names(self.dir), ['Book.xlsx'])

    def test_replace_file(self):
        """ReplaceFile(): the replaced file's streams, ACL and creation
        time go over to the new one, the old becomes a backup."""
        old, new = self.path('data.cfg'), self.path('data.new')
        self.tree.put(old, b'old')
        self.tree.put(old + ':note', b'kept')
        self.tree.set_basic(old, *SOURCE)
        self.tree.put(new, b'new')
        with self.tree.open(new) as h:
            with self.tree.open(new + ':note',
                                disposition=smb.OVERWRITE_IF) as s:
                s.write(self.tree.get(old + ':note'))
            h.set_basic(create=SOURCE[0])
        self.tree.rename(old, self.path('data.bak'))
        self.tree.rename(new, old)
        self.assertEqual(self.tree.get(old), b'new')
        self.assertEqual(self.tree.get(old + ':note'), b'kept')
        self.assertEqual(self.tree.get(self.path('data.bak') + ':note'),
                         b'kept')
        self.assert_times(self.path('data.bak'), SOURCE)

    # Robocopy /MIR /COPYALL /DCOPY:DAT and its like.

    TREE = {
        'readme.txt': (b'text' * 100, smb.ARCHIVE, {}),
        'sub\\hidden.dat': (b'\0' * 70000, smb.HIDDEN | smb.ARCHIVE, {}),
        'sub\\deep\\ro.bin': (b'r' * 10, smb.READONLY, {}),
        'sub\\deep\\sys.bin': (b's' * 10, smb.SYSTEM | smb.HIDDEN, {}),
        'tagged.jpg': (b'j' * 5000, smb.ARCHIVE,
                       {':Zone.Identifier': ZONE, ':tag': b't' * 300}),
        'empty': (b'', smb.NORMAL, {}),
    }
    FOLDERS = ('sub', 'sub\\deep')

    def descriptor(self):
        path = self.path('whose')
        self.tree.put(path)
        with self.tree.open(path, access=smb.READ_CONTROL) as h:
            me = stored.parse_descriptor(h.security()).owner_sid
        self.tree.remove(path)
        return stored.descriptor('D:P(A;OICI;FA;;;%s)(A;OICI;FR;;;WD)' % me)

    def times_of(self, name):
        number = sum(name.encode()) * 10000019
        return tuple(t + number for t in SOURCE)

    def mirror(self, root):
        """Files first, then the times of folders, deepest first."""
        sd = self.descriptor()
        self.tree.mkdir(root)
        for folder in self.FOLDERS:
            self.tree.mkdir(root + '\\' + folder)
        for name, (data, attributes, streams) in self.TREE.items():
            path = root + '\\' + name
            with self.tree.open(path, access=smb.ALL_ACCESS,
                                disposition=smb.OVERWRITE_IF) as h:
                h.set_end_of_file(len(data))
                if data:
                    h.write(data)
                for stream, content in streams.items():
                    with self.tree.open(path + stream,
                                        access=GENERIC_WRITE,
                                        disposition=smb.OVERWRITE_IF) as s:
                        s.write(content)
                h.set_security(sd)
                h.set_basic(*self.times_of(name), attributes=attributes)
        for folder in reversed(self.FOLDERS):
            with self.tree.open(root + '\\' + folder,
                                access=smb.ALL_ACCESS,
                                options=smb.DIRECTORY_FILE) as h:
                h.set_security(sd)
                h.set_basic(*self.times_of(folder),
                            attributes=smb.DIRECTORY | smb.HIDDEN)
        return sd

    def assert_mirror(self, root, sd):
        dacl = stored.parse_descriptor(sd).dacl
        for name, (data, attributes, streams) in self.TREE.items():
            path = root + '\\' + name
            self.assertEqual(self.tree.get(path), data)
            self.assertEqual(self.tree.attributes(path), attributes, name)
            with self.tree.open(path, access=READ_ATTRIBUTES |
                                smb.READ_CONTROL) as h:
                want = {'::$DATA': len(data)}
                want.update({s + ':$DATA': len(c)
                             for s, c in streams.items()})
                self.assertEqual(h.streams(), want)
                self.assertEqual(
                    [str(a.trustee) for a in
                     stored.parse_descriptor(h.security()).dacl.aces],
                    [str(a.trustee) for a in dacl.aces])
            basic = self.tree.basic(path)
            self.assert_time(basic.create, self.times_of(name)[0],
                             'creation time of ' + name)
            self.assert_time(basic.write, self.times_of(name)[2],
                             'write time of ' + name)
        for folder in self.FOLDERS:
            path = root + '\\' + folder
            basic = self.tree.basic(path)
            self.assertEqual(basic.attributes, smb.DIRECTORY | smb.HIDDEN)
            self.assert_time(basic.create, self.times_of(folder)[0],
                             'creation time of ' + folder)
            self.assert_time(basic.write, self.times_of(folder)[2],
                             'write time of ' + folder)

    def test_robocopy_mirror(self):
        root = self.path('mirror')
        sd = self.mirror(root)
        self.assert_mirror(root, sd)

    def test_robocopy_finds_nothing_to_do_the_second_time(self):
        """It compares size and write time in listings."""
        root = self.path('mirror')
        self.mirror(root)
        self.tree.client.close()
        self.clients = []
        self.tree = self.connect()
        for folder in ('',) + self.FOLDERS:
            prefix = folder + '\\' if folder else ''
            for entry in self.tree.list(root + ('\\' + folder
                                                if folder else '')):
                name = prefix + entry.name
                if name in self.TREE:
                    self.assertEqual(entry.size, len(self.TREE[name][0]))
                    self.assert_time(entry.write, self.times_of(name)[2],
                                     'write time of ' + name)
                    self.assertEqual(entry.attributes, self.TREE[name][1])

    def test_robocopy_mirror_removes_extras(self):
        root = self.path('mirror')
        sd = self.mirror(root)
        self.tree.put(root + '\\extra', b'x')
        self.tree.set_basic(root + '\\extra', attributes=smb.READONLY)
        self.tree.mkdir(root + '\\old')
        self.tree.put(root + '\\old\\file:stream', b'x')
        # robocopy takes READONLY away, then deletes.
        self.tree.set_basic(root + '\\extra', attributes=smb.NORMAL)
        self.tree.remove(root + '\\extra')
        self.tree.remove(root + '\\old\\file')
        self.tree.remove(root + '\\old')
        self.assert_mirror(root, sd)

    def test_backup_reads_with_frozen_times(self):
        """Backup programs set -1 before they read."""
        path = self.path('f')
        self.tree.put(path, b'data' * 1000)
        self.tree.set_basic(path, *SOURCE)
        with self.tree.open(path, access=GENERIC_READ |
                            smb.FILE_WRITE_ATTRIBUTES) as h:
            h.set_basic(access=-1, write=-1, change=-1)
            h.read_all()
        basic = self.tree.basic(path)
        self.assert_time(basic.create, SOURCE[0], 'creation time')
        self.assert_time(basic.write, SOURCE[2], 'write time')

    # Temporary files.

    def test_temporary_file(self):
        """CreateFile with FILE_ATTRIBUTE_TEMPORARY and DELETE_ON_CLOSE."""
        path = self.path('~DF1234.TMP')
        with self.tree.create(path, access=smb.ALL_ACCESS,
                              attributes=smb.TEMPORARY,
                              options=smb.DELETE_ON_CLOSE |
                              smb.NON_DIRECTORY_FILE) as h:
            h.write(b'scratch' * 1000)
            self.assertEqual(h.read(7, 7 * 999), b'scratch')
            self.assertEqual(self.tree.names(self.dir), ['~DF1234.TMP'])
        self.assertEqual(self.tree.names(self.dir), [])

    def test_temporary_file_with_a_stream(self):
        path = self.path('t.tmp')
        with self.tree.create(path, access=smb.ALL_ACCESS,
                              options=smb.DELETE_ON_CLOSE) as h:
            with self.tree.open(path + ':s', disposition=smb.CREATE) as s:
                s.write(b'x' * 3000)
            h.write(b'main')
        self.assertEqual(self.tree.names(self.dir), [])
        self.tree.create(path).close()
        with self.tree.open(path) as h:
            self.assertEqual(list(h.streams()), ['::$DATA'])

    def test_temporary_file_kept_by_a_second_handle(self):
        path = self.path('t.tmp')
        with self.tree.create(path, access=smb.ALL_ACCESS,
                              options=smb.DELETE_ON_CLOSE) as h:
            h.write(b'data')
            second = self.tree.open(path, access=smb.FILE_READ_DATA)
        self.assertEqual(second.read(4), b'data')
        self.assert_status('DELETE_PENDING', self.tree.open, path)
        second.close()
        self.assertFalse(self.tree.exists(path))

    # Explorer's folders.

    def test_new_folder_and_rename(self):
        path = self.path('New folder')
        self.tree.mkdir(path)
        self.tree.rename(path, self.path('Invoices'))
        self.tree.put(self.path('Invoices', 'desktop.ini'), b'[x]',
                      attributes=smb.HIDDEN | smb.SYSTEM)
        self.tree.set_basic(self.path('Invoices'), attributes=smb.READONLY)
        self.assertEqual(self.tree.attributes(self.path('Invoices')),
                         smb.READONLY | smb.DIRECTORY)
        self.tree.rename(self.path('Invoices'), self.path('Bills'))
        self.assertEqual(self.tree.attributes(self.path('Bills')),
                         smb.READONLY | smb.DIRECTORY)


if __name__ == '__main__':
    smb_test.main()
