#!/usr/bin/python3
# What local programs leave on a share, and what an admin may have set.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import sys
import time

sys.dont_write_bytecode = True
import private_smbd
import smb2_client as smb
import smb_test
import stored
from smb2_client import NTError, filetime

# Settings that would break NT semantics; the module overrides them.
CONTRARY = {
    'inherit acls': 'no',
    'dos filemode': 'no',
    'store dos attributes': 'no',
    'map archive': 'yes',
    'map hidden': 'yes',
    'map system': 'yes',
    'map readonly': 'permissions',
    'nt acl support': 'no',
    'inherit permissions': 'yes',
    'create mask': '0600',
    'directory mask': '0700',
}

# Each is a share that must be refused with one line that names the value.
NONSENSE = {
    'nonsense-backend': {'ntvfs:backend': 'nonsense'},
    'nonsense-store': {'ntvfs:xattr store': 'nonsense'},
    'nonsense-style': {'ntvfs:default acl style': 'nonsense'},
    'nonsense-size': {'ntvfs:stream xattr size': '1k nonsense'},
}


def shares(env):
    if env.backend != 'posix':
        return []
    base = env.share('base').options
    wanted = [env.share('contrary', dict(base, **CONTRARY))]
    for name, options in NONSENSE.items():
        wanted.append(env.share(name, dict(base, **options)))
    usurped = env.share('usurped')
    os.makedirs(os.path.join(usurped.path, '.ntvfs'))
    os.chown(os.path.join(usurped.path, '.ntvfs'), private_smbd.FIRST_UID,
             private_smbd.FIRST_UID)
    wanted.append(usurped)
    outer = env.share('outer', mode=0o777)
    wanted += [outer, env.share('inner', path=outer.path + '/in',
                                mode=0o777)]
    return wanted


class Local(smb_test.SmbTest):

    def chown(self, *names):
        uid = self.env.smbd.user('nt').uid
        for name in names:
            os.lchown(self.local(name), uid, uid)

    # Symbolic links.

    def test_link_to_a_file_of_the_share(self):
        self.put_local('file', b'data')
        os.symlink('file', self.local('link'))
        self.assertEqual(self.tree.get(self.path('link')), b'data')
        self.assertEqual(self.tree.get(self.path('LINK')), b'data')
        self.assertEqual(sorted(self.tree.names(self.dir)),
                         ['file', 'link'])

    def test_link_to_a_directory_of_the_share(self):
        os.mkdir(self.local('d'))
        self.chown('d')
        self.put_local('d/file', b'data')
        os.symlink('d', self.local('link'))
        self.assertEqual(self.tree.get(self.path('link', 'file')), b'data')
        self.assertEqual(self.tree.get(self.path('LINK', 'FILE')), b'data')
        self.assertTrue(self.tree.attributes(self.path('link')) &
                        smb.DIRECTORY)

    def test_link_out_of_the_share(self):
        outside = os.path.join(self.env.folder, 'outside')
        if not os.path.exists(outside):
            os.mkdir(outside)
        with open(os.path.join(outside, 'secret'), 'w') as f:
            f.write('secret')
        os.chmod(outside, 0o777)
        os.chmod(os.path.join(outside, 'secret'), 0o666)
        os.symlink(outside, self.local('link'))
        os.symlink(os.path.join(outside, 'secret'), self.local('file'))
        os.symlink('../../../outside/secret', self.local('relative'))
        for name in ('link\\secret', 'LINK\\SECRET', 'file', 'FILE',
                     'relative', 'file:s', 'link\\new'):
            for disposition in (smb.OPEN, smb.OPEN_IF, smb.OVERWRITE_IF):
                with self.assertRaises(NTError):
                    self.tree.open(self.path(name), disposition=disposition)
        for name in ('file', 'link'):
            with self.assertRaises(NTError):
                self.tree.set_basic(self.path(name), create=filetime(2001))
        self.assertEqual(os.listxattr(outside), [])
        self.assertEqual(os.listdir(outside), ['secret'])
        with open(os.path.join(outside, 'secret')) as f:
            self.assertEqual(f.read(), 'secret')

    def test_dangling_link(self):
        os.symlink('nowhere', self.local('link'))
        self.put_local('file', b'x')
        self.assertFalse(self.tree.exists(self.path('link')))
        self.assertIn('file', self.tree.names(self.dir))

    def test_link_to_itself(self):
        os.symlink('loop', self.local('loop'))
        self.put_local('file', b'x')
        with self.assertRaises(NTError):
            self.tree.open(self.path('loop'))
        self.assertIn('file', self.tree.names(self.dir))

    def test_delete_of_a_link_leaves_its_target(self):
        self.put_local('file', b'data')
        os.symlink('file', self.local('link'))
        try:
            self.tree.remove(self.path('link'))
        except NTError:
            pass
        self.assertEqual(self.tree.get(self.path('file')), b'data')

    # Odd things.

    def test_fifo_and_socket_do_not_hang(self):
        os.mkfifo(self.local('fifo'))
        os.mknod(self.local('socket'), 0o140644)
        self.put_local('file', b'x')
        self.chown('fifo', 'socket')
        self.assertIn('file', self.tree.names(self.dir))
        for name in 'fifo', 'socket':
            try:
                self.tree.open(self.path(name),
                               access=smb.FILE_READ_DATA).close()
            except NTError:
                pass
        self.assertEqual(self.tree.get(self.path('file')), b'x')

    ODD = ('a*b', 'what?', 'q"q', 'p|p', 'l<r>', 'colon:name', 'trail.',
           'trail ', 'back\\slash', 'aux', 'con.txt', '\x01\x02')

    def test_names_that_windows_cannot_write(self):
        """They are listed by an alias, which opens the file."""
        for name in self.ODD:
            self.put_local(name, name.encode())
        entries = [e for e in self.tree.list(self.dir)
                   if e.name not in ('.', '..')]
        self.assertEqual(len(entries), len(self.ODD))
        self.assertEqual(len({e.name.lower() for e in entries}),
                         len(self.ODD))
        found = set()
        for entry in entries:
            content = self.tree.get(self.path(entry.name))
            found.add(content.decode())
            self.tree.set_basic(self.path(entry.name),
                                attributes=smb.HIDDEN)
            self.assertEqual(self.tree.attributes(self.path(entry.name)),
                             smb.HIDDEN)
        self.assertEqual(found, set(self.ODD))

    def test_names_that_are_no_utf_8(self):
        raw = os.fsencode(self.local()) + b'/bad\xff\xfename'
        with open(raw, 'wb') as f:
            f.write(b'x')
        self.put_local('good', b'x')
        self.assertIn('good', self.tree.names(self.dir))
        self.assertEqual(self.tree.get(self.path('GOOD')), b'x')
        self.assertFalse(self.tree.exists(self.path('none')))
        os.unlink(raw)

    def test_two_names_that_differ_in_case_only(self):
        """Both are listed; the exact name opens the exact file."""
        self.put_local('Name', b'capital')
        self.put_local('name', b'small')
        self.assertEqual(sorted(self.tree.names(self.dir)),
                         ['Name', 'name'])
        self.assertEqual(self.tree.get(self.path('Name')), b'capital')
        self.assertEqual(self.tree.get(self.path('name')), b'small')
        self.tree.remove(self.path('name'))
        self.assertEqual(self.tree.get(self.path('NAME')), b'capital')

    def test_file_without_any_xattr(self):
        path = self.put_local('f', b'data')
        os.utime(path, ns=(981173106000000123, 1012709106987654321))
        basic = self.tree.basic(self.path('f'))
        self.assert_time(basic.write, smb.FT_UNIX_EPOCH +
                         10127091069876543, 'write time')
        self.assertIn(basic.attributes, (smb.NORMAL, smb.ARCHIVE))
        with self.tree.open(self.path('f'), access=smb.READ_CONTROL) as h:
            parsed = stored.parse_descriptor(h.security())
        self.assertIsNotNone(parsed.owner_sid)
        self.assertEqual(self.tree.get(self.path('f')), b'data')

    def test_creation_time_of_a_local_file_stays(self):
        """What is shown before the first set is shown afterwards."""
        path = self.put_local('f', b'data')
        first = self.tree.basic(self.path('f')).create
        self.tree.set_basic(self.path('f'), attributes=smb.HIDDEN)
        self.assert_time(self.tree.basic(self.path('f')).create, first,
                         'creation time after a set')
        os.utime(path, ns=(10 ** 18, 10 ** 18))
        self.assert_time(self.tree.basic(self.path('f')).create, first,
                         'creation time after a local touch')

    def test_copy_by_a_local_program_that_keeps_xattrs(self):
        """cp -a, rsync -X: the copy shows the same metadata."""
        path = self.path('f')
        self.tree.put(path, b'data')
        self.tree.put(path + ':s', b'stream', disposition=smb.OPEN_IF)
        self.tree.set_basic(path, create=filetime(2001),
                            write=filetime(2002), attributes=smb.HIDDEN)
        status = os.spawnlp(os.P_WAIT, 'cp', 'cp', '-a', self.local('f'),
                            self.local('g'))
        self.assertEqual(status, 0)
        basic = self.tree.basic(self.path('g'))
        self.assertEqual(basic.attributes, smb.HIDDEN)
        self.assert_time(basic.create, filetime(2001), 'creation time')
        self.assert_time(basic.write, filetime(2002), 'write time')
        self.assertEqual(self.tree.get(self.path('g:s')), b'stream')

    def test_xattrs_that_are_no_streams(self):
        self.backend_is('posix')
        lost = b'NTSF\1\0\0\0' + b'\xab' * 16
        for number, (name, value) in enumerate((
                (b'user.DosStream.q\xff:$DATA', b'x\0'),
                (b'user.DosStream.a/b:$DATA', b'x\0'),
                (b'user.DosStream.a\\b:$DATA', b'x\0'),
                (b'user.ntvfs.str.q\xff:$DATA', lost),
                (b'user.ntvfs.str.lost:$DATA', lost),
                (b'user.ntvfs.str.nonsense:$DATA', b'x'))):
            for way in 'delete', 'overwrite':
                file = '%s%d' % (way, number)
                local = self.put_local(file, b'data')
                os.setxattr(local, name, value)
                path = self.path(file)
                self.assertEqual(self.tree.get(path), b'data')
                with self.tree.open(path) as h:
                    self.assertIn(len(h.streams()), (1, 2))
                if way == 'delete':
                    self.tree.remove(path)
                else:
                    self.tree.put(path, b'new')
                    self.assertEqual(self.tree.get(path), b'new')
                    self.tree.remove(path)
        self.assertEqual(self.tree.names(self.dir), [])

    def test_many_entries(self):
        for i in range(3000):
            self.put_local('entry%05d' % i)
        self.assertEqual(len(self.tree.names(self.dir)), 3000)
        for i in range(0, 3000, 100):
            self.assertTrue(self.tree.exists(self.path('ENTRY%05d' % i)))
            self.assertFalse(self.tree.exists(self.path('MISSING%05d' % i)))

    def test_deep_directories(self):
        path = self.dir
        for i in range(40):
            path += '\\Level%02d' % i
            self.tree.mkdir(path)
        self.tree.put(path + '\\f', b'deep')
        self.assertEqual(self.tree.get(path.upper() + '\\F'), b'deep')
        self.tree.rename(self.path('Level00'), self.path('moved'))
        self.assertFalse(self.tree.exists(path))
        self.assertEqual(self.tree.get(
            path.replace('Level00', 'moved') + '\\f'), b'deep')


class Settings(smb_test.SmbTest):
    """The module forces what NT semantics need, and says so."""

    def log(self):
        with open(self.env.smbd.log, errors='replace') as f:
            return f.read()

    def test_contrary_settings_are_overridden(self):
        self.backend_is('posix')
        before = len(self.log())
        tree = self.connect('contrary')
        said = self.log()[before:]
        for option in ('inherit acls', 'dos filemode',
                       'store dos attributes', 'readonly'):
            self.assertIn(option, said, 'what is forced is logged')
        tree.put('f', b'data')
        for attributes in (smb.HIDDEN, smb.SYSTEM, smb.READONLY,
                           smb.NORMAL, smb.ARCHIVE):
            tree.set_basic('f', attributes=attributes)
            self.assertEqual(tree.attributes('f'), attributes)
        tree.set_basic('f', create=filetime(2001))
        self.assert_time(tree.basic('f').create, filetime(2001))
        tree.mkdir('d')
        with tree.open('d', access=smb.ALL_ACCESS) as h:
            me = stored.parse_descriptor(h.security()).owner_sid
            h.set_security(stored.descriptor(
                'D:P(A;OICI;FA;;;%s)(A;OICI;FR;;;BG)' % me))
        tree.put('d\\f')
        with tree.open('d\\f', access=smb.READ_CONTROL) as h:
            dacl = stored.parse_descriptor(h.security()).dacl
        self.assertEqual([(str(a.trustee), a.access_mask)
                          for a in dacl.aces],
                         [(str(me), 0x1f01ff), ('S-1-5-32-546', 0x120089)])

    def test_contrary_settings_that_are_read_again(self):
        self.backend_is('posix')
        smbd = self.env.smbd
        tree = self.connect('contrary')
        tree.put('again', b'data')
        said = self.log().count('set what ntvfs needs')
        # smbd reads a file that has not changed no second time
        now = time.time() + 2
        os.utime(smbd.conf, (now, now))
        smbd.command('smbcontrol', '-s', smbd.conf, 'all', 'reload-config')
        for _ in range(50):
            tree.basic('again')
            if self.log().count('set what ntvfs needs') > said:
                break
            time.sleep(0.1)
        for attributes in (smb.HIDDEN, smb.SYSTEM, smb.NORMAL):
            tree.set_basic('again', attributes=attributes)
            self.assertEqual(tree.attributes('again'), attributes)
        with tree.open('again', access=smb.ALL_ACCESS) as h:
            me = stored.parse_descriptor(h.security()).owner_sid
            h.set_security(stored.descriptor('D:P(A;;FA;;;%s)' % me))
            raw = h.security()
        self.assertEqual([str(a.trustee)
                          for a in stored.parse_descriptor(raw).dacl.aces],
                         [str(me)])

    def test_private_folder_that_is_not_roots_is_named(self):
        self.backend_is('posix')
        before = len(self.log())
        with self.assertRaises(NTError):
            self.connect('usurped')
        said = [line for line in self.log()[before:].splitlines()
                if 'usurped/.ntvfs' in line]
        self.assertEqual(len(said), 1, said)

    def nonsense(self, name):
        self.backend_is('posix')
        before = len(self.log())
        with self.assertRaises(NTError):
            self.connect(name)
        said = [line for line in self.log()[before:].splitlines()
                if 'nonsense' in line and 'ntvfs:' in line]
        self.assertEqual(len(said), 1, said)

    def test_nonsense_for_the_backend_is_refused(self):
        self.nonsense('nonsense-backend')

    def test_nonsense_for_the_xattr_store_is_refused(self):
        self.nonsense('nonsense-store')

    def test_nonsense_for_the_default_acl_style_is_refused(self):
        self.nonsense('nonsense-style')

    def test_nonsense_for_the_stream_xattr_size_is_refused(self):
        self.nonsense('nonsense-size')


class Within(smb_test.SmbTest):
    """A share that lies within another one."""

    SHARE = 'outer'

    def setUp(self):
        self.backend_is('posix')
        smb_test.SmbTest.setUp(self)

    def test_private_folder_of_the_inner_share(self):
        inner = self.connect('inner')
        inner.put('f', b'data')
        inner.put('f:large', b'x' * 5000)
        self.tree.mkdir(self.path('.ntvfs'))
        self.assertEqual(self.tree.names(self.dir), ['.ntvfs'])
        self.assertEqual(sorted(self.tree.names('in')), ['f'])
        for name in '.ntvfs', '.NTVFS':
            name = 'in\\' + name
            self.assertFalse(self.tree.exists(name))
            for options in 0, smb.DIRECTORY_FILE:
                self.assert_status('ACCESS_DENIED', self.tree.create, name,
                                   options=options)
            with self.assertRaises(NTError):
                self.tree.rename(name, 'in\\stolen')
            with self.assertRaises(NTError):
                self.tree.rename(self.path('.ntvfs'), name)
        self.assertEqual(inner.get('f:large'), b'x' * 5000)


class Rights(smb_test.SmbTest):
    """What one who is not the owner may do is what the DACL says."""

    def setUp(self):
        smb_test.SmbTest.setUp(self)
        self.other = self.connect(user='other')
        with self.tree.open(self.dir, access=smb.READ_CONTROL) as h:
            self.me = stored.parse_descriptor(h.security()).owner_sid

    def grant(self, path, rights, flags='OICI'):
        with self.tree.open(path, access=smb.WRITE_DAC) as h:
            h.set_security(stored.descriptor(
                'D:P(A;%s;FA;;;%s)' % (flags, self.me) +
                ('(A;%s;%s;;;WD)' % (flags, rights) if rights else '')))

    def test_all_that_is_granted_works(self):
        self.grant(self.dir, 'FA')
        other = self.other
        path = self.path('f')
        self.tree.put(path, b'of nt')
        with other.open(path, access=smb.ALL_ACCESS) as h:
            h.write(b'of other')
            h.set_eas([('FOO', b'bar')])
            h.set_basic(filetime(2001), filetime(2002), filetime(2003), 0,
                        smb.HIDDEN)
            h.set_security(stored.descriptor('D:P(A;;FA;;;WD)'))
        other.put(path + ':s', b'stream', disposition=smb.OPEN_IF)
        other.put(path + ':big', b's' * (500 if self.env.backend == 'stock'
                                         else 100000),
                  disposition=smb.OPEN_IF)
        self.assertEqual(self.tree.get(path + ':s'), b'stream')
        self.assertEqual(other.get(path), b'of other')
        other.rename(path, self.path('g'))
        other.mkdir(self.path('d'))
        other.rename(self.path('g'), self.path('d', 'g'))
        self.assertEqual(self.tree.names(self.dir), ['d'])
        other.remove(self.path('d', 'g'))
        other.remove(self.path('d'))
        self.assertEqual(self.tree.names(self.dir), [])

    def test_streams_change_hands_with_their_file(self):
        """Quota: what a stream takes is charged to the file's owner."""
        self.backend_is('posix')
        self.grant(self.dir, 'FA')
        path = self.path('f')
        self.tree.put(path, b'of nt')
        self.tree.put(path + ':big', b's' * 100000, disposition=smb.OPEN_IF)
        with self.other.open(self.path('own'), access=smb.ALL_ACCESS,
                             disposition=smb.CREATE) as h:
            other = stored.parse_descriptor(h.security()).owner_sid
        uids = [self.env.smbd.user(user).uid for user in ('nt', 'other')]
        streams = self.env.local(self.SHARE, '.ntvfs', 'streams')

        def owners():
            return sorted(os.stat(os.path.join(folder, name)).st_uid
                          for folder, _, names in os.walk(streams)
                          for name in names)

        before = owners()
        with self.other.open(path, access=smb.WRITE_OWNER) as h:
            h.set_security(stored.descriptor('O:%s' % other), smb.OWNER)
        self.assertEqual(os.stat(self.local('f')).st_uid, uids[1])
        after = owners()
        self.assertEqual(after.count(uids[1]), before.count(uids[1]) + 1)
        self.assertEqual(after.count(uids[0]), before.count(uids[0]) - 1)
        self.assertEqual(self.other.get(path + ':big'), b's' * 100000)

    def refused(self, call, *arguments, **keywords):
        self.assert_status('ACCESS_DENIED', call, *arguments, **keywords)

    def test_nothing_that_is_not_granted_works(self):
        path = self.path('f')
        self.tree.put(path, b'data')
        self.tree.put(path + ':s', b'stream', disposition=smb.OPEN_IF)
        self.grant(self.dir, 'FR', 'OICI')
        self.grant(path, 'FR', '')
        other = self.other
        self.assertEqual(other.get(path), b'data')
        self.assertEqual(other.get(path + ':s'), b'stream')
        for access in (smb.FILE_WRITE_DATA, smb.FILE_APPEND_DATA,
                       smb.FILE_WRITE_EA, smb.FILE_WRITE_ATTRIBUTES,
                       smb.DELETE, smb.WRITE_DAC, smb.WRITE_OWNER):
            self.refused(other.open, path, access=access)
            self.refused(other.open, path + ':s', access=access)
        self.refused(other.open, path + ':new', access=smb.FILE_WRITE_DATA,
                     disposition=smb.CREATE)
        self.refused(other.open, path, disposition=smb.OVERWRITE,
                     access=smb.FILE_READ_DATA)
        self.refused(other.create, self.path('new'))
        self.refused(other.mkdir, self.path('newdir'))
        with other.open(path, access=smb.FILE_READ_DATA) as h:
            self.refused(h.set_basic, create=filetime(2001))
            self.refused(h.set_end_of_file, 0)
            self.refused(h.set_disposition, True)
            self.refused(h.rename, self.path('moved'))
            self.refused(h.write, b'x')
        self.assertEqual(self.tree.get(path), b'data')
        self.assertEqual(self.tree.names(self.dir), ['f'])

    def test_a_closed_directory_is_closed(self):
        self.tree.mkdir(self.path('d'))
        self.tree.put(self.path('d', 'f'), b'data')
        self.grant(self.path('d'), None)
        self.grant(self.path('d', 'f'), None, '')
        self.refused(self.other.list, self.path('d'))
        self.refused(self.other.open, self.path('d', 'f'),
                     access=smb.FILE_READ_DATA)
        with self.assertRaises(NTError):
            self.other.open(self.path('d', 'new'), disposition=smb.CREATE)

    def test_delete_by_the_right_on_the_folder(self):
        """DELETE_CHILD on the folder is enough (MS-FSA 2.1.5.1.2.1)."""
        path = self.path('f')
        self.tree.put(path, b'data')
        self.grant(path, 'FR', '')
        self.grant(self.dir, '0x1201df', '')
        self.assertEqual(self.other.get(path), b'data')
        self.other.remove(path)
        self.assertFalse(self.tree.exists(path))

    def test_no_delete_by_the_mode_of_the_folder(self):
        """Mode 0777 of a folder gives nothing that its DACL does not."""
        path = self.path('f')
        self.tree.put(path, b'data')
        self.grant(path, 'FR', '')
        self.grant(self.dir, 'FR', '')
        os.chmod(self.local(), 0o777)
        os.chmod(self.local('f'), 0o666)
        self.refused(self.other.remove, path)
        self.refused(self.other.open, path, access=smb.FILE_WRITE_DATA)
        self.refused(self.other.create, self.path('new'))


if __name__ == '__main__':
    smb_test.main()
