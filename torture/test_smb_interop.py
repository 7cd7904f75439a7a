#!/usr/bin/python3
# Stock Samba and ntvfs on one folder; trees that Samba4's ntvfs left.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one writes the other must show: the share `stock` lies on the same
folder as `main` with `acl_xattr streams_xattr`."""

import os
import sys

sys.dont_write_bytecode = True
import backends
import smb2_client as smb
import smb_test
import stored
from smb2_client import filetime


def shares(env):
    return [env.share('stock', backends.share_options('stock'),
                      path=os.path.join(env.folder, 'shares', 'main'))]


CREATE = filetime(2001, 2, 3, 4, 5, 6, 1234567)
ACCESS = filetime(2002, 3, 4, 5, 6, 7, 2345678)
WRITE = filetime(2003, 4, 5, 6, 7, 8, 3456789)
CHANGE = filetime(2004, 5, 6, 7, 8, 9, 4567890)


class Interop(smb_test.SmbTest):

    def setUp(self):
        smb_test.SmbTest.setUp(self)
        self.other = self.connect('stock')

    def me(self):
        path = self.path('whose')
        self.tree.put(path)
        with self.tree.open(path, access=smb.READ_CONTROL) as h:
            return stored.parse_descriptor(h.security()).owner_sid

    def write_tree(self, tree):
        """A small tree with all metadata, written through tree."""
        sddl = 'D:P(A;;FA;;;%s)(A;;FR;;;WD)(D;;WD;;;BG)' % self.me()
        tree.mkdir(self.path('d'))
        for name, attributes in (('f', smb.HIDDEN), ('d\\g', smb.SYSTEM),
                                 ('d', smb.HIDDEN), ('ro', smb.READONLY),
                                 ('n', smb.NORMAL)):
            path = self.path(name)
            if name != 'd':
                tree.put(path, b'content of ' + name.encode())
                tree.put(path + ':note', b'note of ' + name.encode(),
                         disposition=smb.OPEN_IF)
                tree.put(path + ':Zone.Identifier', b'z' * 500,
                         disposition=smb.OPEN_IF)
            with tree.open(path, access=smb.ALL_ACCESS) as h:
                h.set_eas([('FOO', b'bar')])
                h.set_security(stored.descriptor(sddl))
                h.set_basic(CREATE, ACCESS, WRITE, CHANGE, attributes)

    NAMES = (('f', smb.HIDDEN), ('d\\g', smb.SYSTEM),
             ('d', smb.HIDDEN | smb.DIRECTORY), ('ro', smb.READONLY),
             ('n', smb.NORMAL))

    def assert_metadata(self, tree):
        for name, attributes in self.NAMES:
            with tree.open(self.path(name), access=smb.READ_CONTROL |
                           smb.FILE_READ_EA |
                           smb.FILE_READ_ATTRIBUTES) as h:
                basic = h.basic()
                self.assertEqual(hex(basic.attributes), hex(attributes),
                                 name)
                self.assert_time(basic.create, CREATE, 'creation time')
                self.assert_time(basic.access, ACCESS, 'access time')
                self.assert_time(basic.write, WRITE, 'write time')
                dacl = stored.parse_descriptor(h.security()).dacl
                self.assertEqual([a.access_mask for a in dacl.aces],
                                 [0x1f01ff, 0x120089, 0x40000])
                self.assertEqual(h.eas(), [('FOO', b'bar')])
                if name != 'd':
                    self.assertEqual(h.streams(), {
                        '::$DATA': 11 + len(name),
                        ':note:$DATA': 8 + len(name),
                        ':Zone.Identifier:$DATA': 500})

    def assert_content(self, tree):
        for name, attributes in self.NAMES:
            if not attributes & smb.DIRECTORY:
                path = self.path(name)
                self.assertEqual(tree.get(path),
                                 b'content of ' + name.encode())
                self.assertEqual(tree.get(path + ':note'),
                                 b'note of ' + name.encode())

    def assert_both(self, first, second):
        """Metadata before content: reading may move the access time."""
        self.assert_metadata(first)
        self.assert_metadata(second)
        self.assert_content(first)
        self.assert_content(second)

    def test_written_here_read_by_stock(self):
        self.write_tree(self.tree)
        self.assert_both(self.tree, self.other)

    def test_written_by_stock_read_here(self):
        self.write_tree(self.other)
        self.assert_both(self.other, self.tree)

    def test_switched_off_and_on_again(self):
        """ntvfs, then stock changes things, then ntvfs again."""
        self.write_tree(self.tree)
        path = self.path('f')
        self.other.put(path + ':note', b'changed by stock',
                       disposition=smb.OPEN_IF)
        self.other.set_basic(path, create=filetime(2011),
                             attributes=smb.SYSTEM)
        basic = self.tree.basic(path)
        self.assertEqual(basic.attributes, smb.SYSTEM)
        self.assert_time(basic.create, filetime(2011), 'creation time')
        self.assertEqual(self.tree.get(path + ':note'), b'changed by stock')
        self.other.remove(path + ':note')
        with self.tree.open(path, access=smb.FILE_READ_ATTRIBUTES) as h:
            self.assertNotIn(':note:$DATA', h.streams())

    def test_inherited_acls_by_the_other(self):
        me = self.me()
        for writer, reader, name in ((self.tree, self.other, 'a'),
                                     (self.other, self.tree, 'b')):
            folder = self.path(name)
            writer.mkdir(folder)
            with writer.open(folder, access=smb.ALL_ACCESS) as h:
                h.set_security(stored.descriptor(
                    'D:P(A;OICI;FA;;;%s)(A;OICI;FR;;;BG)' % me))
            reader.put(folder + '\\f', b'x')
            masks = []
            for tree in (writer, reader):
                with tree.open(folder + '\\f', access=smb.READ_CONTROL) as h:
                    masks.append([
                        (str(a.trustee), a.access_mask) for a in
                        stored.parse_descriptor(h.security()).dacl.aces])
            self.assertEqual(masks[0], masks[1])
            self.assertEqual(masks[0], [(str(me), 0x1f01ff),
                                        ('S-1-5-32-546', 0x120089)])

    def test_stored_descriptor_is_read_by_samba_tool(self):
        self.write_tree(self.tree)
        result = self.env.smbd.command(
            'samba-tool', 'ntacl', 'get', '--as-sddl', '--use-ntvfs',
            '--xattr-backend=native', self.local('f'))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn('O:%s' % self.me(), result.stdout)
        self.assertRegex(result.stdout, r'\(A;;(FR|0x0*120089);;;WD\)')

    # Trees that Samba4's ntvfs left.

    def samba4_file(self, name, attributes=smb.HIDDEN | smb.ARCHIVE):
        path = self.put_local(name, b'samba4')
        stored.set_samba4_dosattrib(path, attributes, CREATE, CHANGE, 6)
        return path

    def test_samba4_attributes_and_creation_time(self):
        self.backend_is('posix')
        self.samba4_file('f')
        basic = self.tree.basic(self.path('f'))
        self.assertEqual(hex(basic.attributes),
                         hex(smb.HIDDEN | smb.ARCHIVE))
        self.assert_time(basic.create, CREATE, 'creation time')

    def test_samba4_attributes_in_the_listing(self):
        self.backend_is('posix')
        self.samba4_file('f')
        entry = [e for e in self.tree.list(self.dir) if e.name == 'f'][0]
        self.assertEqual(hex(entry.attributes),
                         hex(smb.HIDDEN | smb.ARCHIVE))
        self.assert_time(entry.create, CREATE, 'creation time')

    def test_samba4_directory(self):
        self.backend_is('posix')
        os.mkdir(self.local('d'))
        stored.set_samba4_dosattrib(self.local('d'),
                                    smb.HIDDEN | smb.DIRECTORY, CREATE,
                                    CHANGE)
        basic = self.tree.basic(self.path('d'))
        self.assertEqual(basic.attributes, smb.HIDDEN | smb.DIRECTORY)
        self.assert_time(basic.create, CREATE, 'creation time')

    def test_samba4_attributes_are_changed(self):
        """A later set wins over the old blob."""
        self.backend_is('posix')
        self.samba4_file('f')
        path = self.path('f')
        self.tree.set_basic(path, attributes=smb.SYSTEM)
        basic = self.tree.basic(path)
        self.assertEqual(basic.attributes, smb.SYSTEM)
        self.assert_time(basic.create, CREATE, 'creation time')

    def test_samba4_streams(self):
        self.backend_is('posix')
        local = self.samba4_file('f')
        stored.set_samba4_streams(local, {'note:$DATA': b'a note',
                                          'Mark:$DATA': b'marked'})
        path = self.path('f')
        self.assertEqual(self.tree.get(path + ':note'), b'a note')
        self.assertEqual(self.tree.get(path + ':MARK'), b'marked')
        with self.tree.open(path, access=smb.FILE_READ_ATTRIBUTES |
                            smb.FILE_READ_EA) as h:
            self.assertEqual(h.streams(), {'::$DATA': 6, ':note:$DATA': 6,
                                           ':Mark:$DATA': 6})
            self.assertEqual(h.eas(), [])

    def test_samba4_streams_without_type(self):
        """As it named them itself: listed, read, changed, renamed, gone."""
        self.backend_is('posix')
        local = self.samba4_file('f')
        streams = {'s%d' % i: b'data %d' % i for i in range(6)}
        stored.set_samba4_streams(local, streams)
        path = self.path('f')

        def check():
            with self.tree.open(path) as h:
                self.assertEqual(
                    {name: size for name, size in h.streams().items()
                     if name != '::$DATA'},
                    {':%s:$DATA' % name: len(data)
                     for name, data in streams.items()})
            for name, data in streams.items():
                self.assertEqual(self.tree.get(path + ':' + name), data)

        check()
        with self.tree.open(path + ':s0') as h:
            h.write(b' and more', 6)
        streams['s0'] = b'data 0 and more'
        check()
        # whatever was looked at first, all are like stock Samba's now
        self.assertEqual(os.getxattr(local, 'user.DosStream.s1:$DATA'),
                         b'data 1\0')
        self.assertNotIn('user.DosStreams', os.listxattr(local))
        with self.tree.open(path + ':S1') as h:
            h.write(b'large' * 10000)
        streams['s1'] = b'large' * 10000
        self.tree.rename(path + ':s2', ':t2', False)
        streams['t2'] = streams.pop('s2')
        self.tree.rename(path + ':s3', ':s4', True)
        streams['s4'] = streams.pop('s3')
        self.tree.remove(path + ':s5')
        del streams['s5']
        check()
        # one of another program, and no list: the NUL is told from data
        os.setxattr(local, 'user.DosStream.u', b'typeless\0')
        os.setxattr(local, 'user.DosStream.v', b'without NUL')
        streams['u'], streams['v'] = b'typeless', b'without NUL'
        check()

    def test_samba4_descriptor(self):
        self.backend_is('posix')
        local = self.samba4_file('f')
        sddl = 'O:%sG:%sD:P(A;;FA;;;%s)(A;;FR;;;BG)' % ((self.me(),) * 3)
        stored.set_ntacl_version_1(
            local, stored.parse_descriptor(stored.descriptor(sddl)))
        with self.tree.open(self.path('f'), access=smb.READ_CONTROL) as h:
            got = stored.parse_descriptor(h.security())
        self.assertEqual([(str(a.trustee), a.access_mask)
                          for a in got.dacl.aces],
                         [(str(self.me()), 0x1f01ff),
                          ('S-1-5-32-546', 0x120089)])

    # Blobs that nobody should have written.

    def test_damaged_dosattrib_leaves_the_file_usable(self):
        path = self.path('f')
        for blob in (b'', b'\0', b'junk' * 20, b'0x', b'\xff' * 64,
                     b'\0\0\x03\0\x03\0\0\0'):
            local = self.put_local('f', b'data')
            os.setxattr(local, stored.DOSATTRIB, blob)
            self.assertEqual(self.tree.get(path), b'data')
            self.assertEqual(self.tree.attributes(path) &
                             (smb.DIRECTORY | smb.REPARSE), 0, blob)
            self.tree.set_basic(path, attributes=smb.HIDDEN,
                                create=filetime(2001))
            basic = self.tree.basic(path)
            self.assertEqual(basic.attributes, smb.HIDDEN, blob)
            self.assert_time(basic.create, filetime(2001))
            self.tree.remove(path)

    def test_damaged_descriptor_never_opens_the_door(self):
        """Nobody but the owner gets in by a blob that cannot be read."""
        other = self.connect(user='other')
        path = self.path('f')
        for blob in (b'', b'junk' * 20, b'\xff' * 100,
                     b'\x04\0\x04\0\x04\0\0\0'):
            local = self.put_local('f', b'data')
            os.chmod(local, 0o600)
            os.setxattr(local, stored.NTACL, blob)
            with self.assertRaises(smb.NTError):
                other.open(path, access=smb.FILE_READ_DATA)
            os.unlink(local)

    def test_hex_text_of_the_first_versions(self):
        """Samba 3.0 wrote the attributes as text: 0x23."""
        local = self.put_local('f', b'data')
        os.setxattr(local, stored.DOSATTRIB, b'0x22\0')
        self.assertEqual(self.tree.attributes(self.path('f')),
                         smb.HIDDEN | smb.ARCHIVE)


if __name__ == '__main__':
    smb_test.main()
