#!/usr/bin/python3
# Other VFS modules above and below, and file systems without xattrs (B53).
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import private_smbd
import smb2_client as smb
import smb_test
import stored
from smb2_client import NTError, filetime

TIMES = (filetime(2001, 2, 3, 4, 5, 6, 1234567),
         filetime(2002, 3, 4, 5, 6, 7, 2345678),
         filetime(2003, 4, 5, 6, 7, 8, 3456789))

AUDIT = {'full_audit:success': 'all', 'full_audit:failure': 'all',
         'full_audit:syslog': 'false', 'full_audit:priority': 'NOTICE',
         'full_audit:prefix': 'AUDIT-%S'}
RECYCLE = {'recycle:repository': '.recycle', 'recycle:keeptree': 'yes',
           'recycle:versions': 'no', 'recycle:touch': 'no'}
SHADOW = {'shadow:snapdir': '.snapshots', 'shadow:sort': 'desc',
          'shadow:format': '@GMT-%Y.%m.%d-%H.%M.%S'}
SNAPSHOT = '@GMT-2020.02.03-04.05.06'

# Modules that do what ntvfs does, and would hide what it keeps.
RIVALS = ('acl_xattr', 'acl_tdb', 'streams_xattr', 'streams_depot')

NO_XATTRS = None
NO_TMPFS = None
NO_IMAGE = None
NO_BTRFS = None


def user_xattrs(env):
    """Mount a tmpfs; why it cannot be, or has no user xattrs (Linux 6.6)."""
    why = env.mount('tmpfs', ['-t', 'tmpfs', '-o', 'mode=755'])
    if why is not None:
        return why
    try:
        os.setxattr(os.path.join(env.folder, 'shares', 'tmpfs'), 'user.x',
                    b'x')
    except OSError as e:
        return 'setxattr on tmpfs: %s' % e
    return None


def shares(env):
    global NO_XATTRS, NO_TMPFS, NO_IMAGE, NO_BTRFS
    if env.backend == 'native':
        return []
    base = env.share('base').options
    objects = base['vfs objects']
    wanted = []

    def stack(name, chain, *more):
        options = dict(base)
        for extra in more:
            options.update(extra)
        options['vfs objects'] = chain
        wanted.append(env.share(name, options))

    stack('audit', 'full_audit ' + objects, AUDIT)
    stack('recycle', 'recycle ' + objects, RECYCLE)
    stack('shadow', 'shadow_copy2 ' + objects, SHADOW)
    stack('chain', 'full_audit recycle shadow_copy2 ' + objects, AUDIT,
          RECYCLE, SHADOW)
    stack('below', objects + ' full_audit', AUDIT)
    if env.backend == 'posix':
        for rival in RIVALS:
            stack('above-' + rival, rival + ' ntvfs')
            stack('below-' + rival, 'ntvfs ' + rival)
        stack('parameter', 'acl_xattr:x ntvfs')
        stack('twice', 'ntvfs ntvfs')
        stack('elsewhere', 'ntvfs xattr_tdb', {
            'xattr_tdb:file': os.path.join(env.folder, 'xattr.tdb')})
        later = os.path.join(env.folder, 'shares', 'later')
        wanted.append(env.share('later', dict(base, **{
            'path': later + '/made/%U',
            'root preexec': 'install -d -o %d -g %d %s/made/nt' % (
                private_smbd.FIRST_UID, private_smbd.FIRST_UID, later)})))
        stack('tdb', objects, {'ntvfs:xattr store': 'tdb'})
        NO_TMPFS = user_xattrs(env)
        if NO_TMPFS is None:
            wanted.append(env.share('tmpfs', dict(base)))
        NO_IMAGE = env.mount_image('frozen', ['mkfs.ext4', '-q'], 32)
        if NO_IMAGE is None:
            path = os.path.join(env.folder, 'shares', 'frozen')
            for store in 'fs', 'tdb':
                wanted.append(env.share(
                    'frozen-' + store, dict(base, **{'ntvfs:xattr store':
                                                     store}), path=path))
        NO_BTRFS = env.mount_image('btrfs', ['mkfs.btrfs', '-q'], 160)
        if NO_BTRFS is None:
            wanted.append(env.share('btrfs', dict(base)))
        NO_XATTRS = env.mount('bare', ['-t', 'ramfs', '-o', 'mode=755'])
        if NO_XATTRS is None:
            path = os.path.join(env.folder, 'shares', 'bare')
            for store in 'auto', 'fs', 'tdb':
                wanted.append(env.share(
                    'bare-' + store, dict(base, **{'ntvfs:xattr store':
                                                   store}), path=path))
    return wanted


class OneRound(smb_test.SmbTest):
    """What every stack must be able to do."""

    def round(self, share):
        self.SHARE = share
        tree = self.connect(share)
        self.dir = 'round'
        if tree.exists(self.dir):
            tree.rmtree(self.dir)
        tree.mkdir(self.dir)
        self.round_on(tree)
        return tree

    def round_on(self, tree):
        path = self.path('File')
        data = bytes(range(256)) * 1000
        tree.put(path, data)
        tree.put(path + ':s', b'stream', disposition=smb.OPEN_IF)
        with tree.open(path, access=smb.ALL_ACCESS) as h:
            me = stored.parse_descriptor(h.security()).owner_sid
            h.set_security(stored.descriptor(
                'D:P(A;;FA;;;%s)(A;;FR;;;BG)' % me))
            h.set_eas([('FOO', b'bar')])
            h.set_basic(*TIMES, attributes=smb.HIDDEN)
        self.assert_round(tree, path)
        self.assertEqual(tree.get(self.path('fILE')), data)
        self.assertEqual(tree.names(self.dir), ['File'])
        tree.rename(path, self.path('Other'))
        tree.mkdir(self.path('d'))
        tree.rename(self.path('Other'), self.path('d', 'Third'))
        self.assertEqual(tree.get(self.path('d', 'Third')), data)
        self.assertEqual(tree.get(self.path('d', 'Third:s')), b'stream')
        tree.set_basic(self.path('d', 'Third'), attributes=smb.READONLY)
        self.assert_status('CANNOT_DELETE', tree.remove,
                           self.path('d', 'Third'))
        tree.set_basic(self.path('d', 'Third'), attributes=smb.NORMAL)
        tree.remove(self.path('d', 'Third'))
        tree.remove(self.path('d'))
        self.assertEqual(tree.names(self.dir), [])

    def assert_round(self, tree, path):
        with tree.open(path, access=smb.READ_CONTROL | smb.FILE_READ_EA |
                       smb.FILE_READ_ATTRIBUTES) as h:
            basic = h.basic()
            self.assertEqual(basic.attributes, smb.HIDDEN)
            for got, want in zip(basic.times(), TIMES):
                self.assert_time(got, want)
            self.assertEqual(h.eas(), [('FOO', b'bar')])
            self.assertIn(':s:$DATA', h.streams())
            dacl = stored.parse_descriptor(h.security()).dacl
            self.assertEqual([a.access_mask for a in dacl.aces],
                             [0x1f01ff, 0x120089])

    def log(self):
        with open(self.env.smbd.log, errors='replace') as f:
            return f.read()


class Stacking(OneRound):

    def setUp(self):
        if self.env.backend == 'native':
            self.skipTest('the stacks are on the posix backend')
        smb_test.SmbTest.setUp(self)

    def test_full_audit_above(self):
        self.round('audit')
        log = self.log()
        for call in ('create_file', 'close', 'pwrite', 'renameat',
                     'unlinkat', 'mkdirat'):
            self.assertRegex(log, r'AUDIT-audit\|%s\w*\|ok' % call)

    def test_full_audit_below_is_called_through_next(self):
        self.round('below')
        log = self.log()
        for call in ('openat', 'renameat', 'unlinkat', 'mkdirat'):
            self.assertRegex(log, r'AUDIT-below\|%s\|ok' % call)

    def test_recycle_above(self):
        tree = self.connect('recycle')
        tree.mkdir('folder')
        big = os.urandom(1000 if self.env.backend == 'stock' else 200000)
        tree.put('folder\\f', b'data')
        tree.put('folder\\f:small', b'stream', disposition=smb.OPEN_IF)
        tree.put('folder\\f:big', big, disposition=smb.OPEN_IF)
        tree.set_basic('folder\\f', *TIMES, attributes=smb.HIDDEN)
        tree.remove('folder\\f')
        self.assertFalse(tree.exists('folder\\f'))
        kept = '.recycle\\folder\\f'
        basic = tree.basic(kept)
        self.assertEqual(basic.attributes & ~smb.ARCHIVE, smb.HIDDEN)
        self.assert_time(basic.create, TIMES[0], 'creation time')
        self.assert_time(basic.write, TIMES[2], 'write time')
        self.assertEqual(tree.get(kept), b'data')
        if self.env.backend != 'stock':
            # smbd removes the streams before it removes the file
            self.assertEqual(tree.get(kept + ':small'), b'stream')
            self.assertEqual(tree.get(kept + ':big'), big)

    def test_recycle_round(self):
        tree = self.connect('recycle')
        self.dir = 'round'
        tree.mkdir(self.dir)
        self.round_on(tree)
        self.assertTrue(tree.exists('.recycle\\round\\d\\Third'))

    def snapshot(self, share):
        """A folder that shadow_copy2 takes for a snapshot, with a file."""
        top = os.path.join(self.env.smbd.share(share).path, '.snapshots',
                           SNAPSHOT)
        os.makedirs(os.path.join(top, 'd'), exist_ok=True)
        with open(os.path.join(top, 'd', 'f'), 'wb') as f:
            f.write(b'old content')
        uid = self.env.smbd.user('nt').uid
        for where, _, names in os.walk(os.path.dirname(top)):
            os.chown(where, uid, uid)
            os.chmod(where, 0o755)
            for name in names:
                os.chown(os.path.join(where, name), uid, uid)
                os.chmod(os.path.join(where, name), 0o644)

    def previous(self, share):
        self.snapshot(share)
        tree = self.connect(share)
        if not tree.exists('d'):
            tree.mkdir('d')
        tree.put('d\\f', b'new content!')
        self.assertEqual(tree.get('d\\f'), b'new content!')
        with tree.open('d\\f') as h:
            _, data = h.ioctl(smb.FSCTL_SRV_ENUMERATE_SNAPSHOTS, b'', 4096)
        self.assertIn(SNAPSHOT.encode('utf-16le'), data)
        stamp = filetime(2020, 2, 3, 4, 5, 6)
        twrp = smb.create_context(b'TWrp', stamp.to_bytes(8, 'little'))
        with tree.open('d\\f', access=smb.FILE_READ_DATA |
                       smb.FILE_READ_ATTRIBUTES, contexts=[twrp]) as h:
            self.assertEqual(h.read_all(), b'old content')
            self.assertEqual(h.basic().attributes & smb.DIRECTORY, 0)
        with tree.open('d', access=smb.FILE_READ_DATA |
                       smb.FILE_READ_ATTRIBUTES, contexts=[twrp],
                       options=smb.DIRECTORY_FILE) as h:
            self.assertEqual([e.name for e in h.list()
                              if not e.name.startswith('.')], ['f'])
        tree.remove('d\\f')

    def test_shadow_copy2_above(self):
        self.round('shadow')
        self.previous('shadow')

    def test_three_above(self):
        tree = self.connect('chain')
        self.dir = 'round'
        tree.mkdir(self.dir)
        self.round_on(tree)
        self.previous('chain')
        self.assertIn('AUDIT-chain', self.log())


def refusal(share, rival):
    def test(self):
        self.backend_is('posix')
        before = len(self.log())
        with self.assertRaises(NTError):
            self.connect(share)
        said = [line for line in self.log()[before:].splitlines()
                if rival in line and 'ntvfs' in line]
        self.assertEqual(len(said), 1, 'one line naming both modules, got '
                         '%r' % said)
    return test


class Refusal(OneRound):
    """ntvfs does not serve a share beside a module that does its work."""


for _rival in RIVALS:
    for _side in 'above', 'below':
        _name = 'test_%s_%s_is_refused' % (_rival, _side)
        setattr(Refusal, _name, refusal('%s-%s' % (_side, _rival), _rival))


Refusal.test_one_with_a_parameter_is_refused = refusal('parameter',
                                                       'acl_xattr')
Refusal.test_a_second_one_of_itself_is_refused = refusal('twice', 'ntvfs 2 times')


class Elsewhere(OneRound):
    """A module on the right keeps the xattrs: no stamp tells of changes."""

    def setUp(self):
        self.backend_is('posix')
        smb_test.SmbTest.setUp(self)

    def test_round(self):
        self.round('elsewhere')

    def test_two_clients(self):
        first = self.connect('elsewhere')
        second = self.connect('elsewhere', user='other')
        first.put('f', b'data')

        def set_dacl(sddl):
            with first.open('f', access=smb.WRITE_DAC) as h:
                h.set_security(stored.descriptor(sddl))

        set_dacl('D:P(A;;FA;;;OW)(A;;FA;;;WD)')
        self.assertEqual(second.get('f'), b'data')
        set_dacl('D:P(A;;FA;;;OW)')
        self.assert_status('ACCESS_DENIED', second.get, 'f')
        set_dacl('D:P(A;;FA;;;OW)(A;;FA;;;WD)')
        self.assertEqual(second.get('f'), b'data')
        for attributes in (smb.HIDDEN, smb.SYSTEM, smb.ARCHIVE):
            first.set_basic('f', attributes=attributes)
            self.assertEqual(second.attributes('f'), attributes)


class Later(OneRound):
    """A share whose folder a preexec script makes."""

    def test_round(self):
        self.backend_is('posix')
        self.round('later')
        self.round('later')


class ManyNames(smb_test.SmbTest):
    """A file system that lets a file have more xattrs than can be listed."""

    SHARE = 'tmpfs'

    def setUp(self):
        self.backend_is('posix')
        self.require(NO_TMPFS)
        smb_test.SmbTest.setUp(self)

    def test_streams(self):
        path = self.path('f')
        self.tree.put(path, b'data')
        names = ['%s:%03d%s' % (path, i, 'n' * 215) for i in range(300)]
        for name in names:
            self.tree.put(name, b'small', disposition=smb.OPEN_IF)
        for name in names:
            self.assertEqual(self.tree.get(name), b'small')
        self.tree.remove(names[0])
        self.assertFalse(self.tree.exists(names[0]))
        self.tree.remove(path)
        self.assertEqual(self.tree.names(self.dir), [])

    def test_eas(self):
        path = self.path('f')
        self.tree.put(path, b'data')
        count = 0
        with self.tree.open(path, access=smb.ALL_ACCESS) as h:
            try:
                while count < 400:
                    h.set_eas([('E' * 200 + '%03d' % count, b'x')])
                    count += 1
            except NTError:
                pass
        self.assertGreater(count, 100)
        self.assertLess(count, 400)
        with self.tree.open(path, access=smb.ALL_ACCESS) as h:
            self.assertEqual(len(h.eas()), count)
            h.set_eas([('E' * 200 + '000', b'')])
        self.tree.put(path + ':s', b'stream', disposition=smb.OPEN_IF)
        self.assertEqual(self.tree.get(path + ':s'), b'stream')
        self.tree.remove(path)
        self.assertEqual(self.tree.names(self.dir), [])


class ReadOnly(smb_test.SmbTest):
    """A file system that is mounted read-only."""

    def setUp(self):
        self.backend_is('posix')
        self.require(NO_IMAGE)
        smb_test.SmbTest.setUp(self)

    def remount(self, how):
        command = ['mount', '-o', 'remount,' + how,
                   self.env.local('frozen-fs')]
        for _ in range(50):
            # smbd may not have noticed yet that its client is gone
            if subprocess.run(command, stderr=subprocess.DEVNULL).returncode \
                    == 0:
                return
            time.sleep(0.1)
        self.fail(' '.join(command) + ' fails')

    def frozen(self, share, count):
        tree = self.connect(share)
        kept = {'f': b'data', 'f:large': b'y' * 100000}
        for i in range(count):
            kept['f:%03d%s' % (i, 'n' * 100)] = b'x' * i
        for name, data in kept.items():
            tree.put(name, data, disposition=smb.OPEN_IF)
        tree.client.close()
        local = self.env.local(share)
        shutil.copyfile(local + '/f', local + '/copy')
        os.chown(local + '/copy', private_smbd.FIRST_UID,
                 private_smbd.FIRST_UID)
        for name in os.listxattr(local + '/f'):
            if name.startswith('user.'):
                os.setxattr(local + '/copy', name,
                            os.getxattr(local + '/f', name))
        self.remount('ro')
        try:
            tree = self.connect(share)
            for name, data in kept.items():
                self.assertEqual(tree.get(name), data)
            with tree.open('f', access=smb.FILE_READ_ATTRIBUTES) as h:
                self.assertEqual(len(h.streams()), count + 2)
            if share == 'frozen-fs':
                self.assertEqual(tree.get('copy:large'), kept['f:large'])
            for name in 'f', 'f:large', 'f:000' + 'n' * 100, 'f:new', 'new':
                with self.assertRaises(NTError):
                    tree.put(name, b'data', disposition=smb.OPEN_IF)
            with self.assertRaises(NTError):
                tree.set_basic('f', attributes=smb.HIDDEN)
            with self.assertRaises(NTError):
                tree.remove('f')
            self.assertEqual(tree.attributes('f'), smb.ARCHIVE)
            tree.client.close()
        finally:
            self.remount('rw')
        tree = self.connect(share)
        for name, data in kept.items():
            self.assertEqual(tree.get(name), data)
        tree.remove('f')

    def test_fs(self):
        self.frozen('frozen-fs', 60)

    def test_tdb(self):
        self.frozen('frozen-tdb', 3)


class Snapshots(smb_test.SmbTest):
    """Snapshots within the share: other volumes with the same inodes."""

    SHARE = 'btrfs'

    def setUp(self):
        self.backend_is('posix')
        self.require(NO_BTRFS)
        smb_test.SmbTest.setUp(self)

    def btrfs(self, *arguments):
        subprocess.run(['btrfs', 'subvolume', *arguments], check=True,
                       stdout=subprocess.DEVNULL)

    def test_streams(self):
        one, two, frozen = (self.local(n) for n in ('one', 'two', 'frozen'))
        self.btrfs('create', one)
        os.chown(one, private_smbd.FIRST_UID, private_smbd.FIRST_UID)
        path = self.path('one', 'f')
        copy = self.path('two', 'f')
        large = b'before' * 3000
        self.tree.put(path, b'data')
        self.tree.put(path + ':large', large, disposition=smb.OPEN_IF)
        self.btrfs('snapshot', one, two)
        self.btrfs('snapshot', '-r', one, frozen)
        self.assertEqual(self.tree.get(copy + ':large'), large)
        self.tree.put(copy + ':large', b'after' * 3000)
        self.assertEqual(self.tree.get(path + ':large'), large)
        self.assertEqual(self.tree.get(copy + ':large'), b'after' * 3000)
        self.tree.remove(copy)
        self.assertEqual(self.tree.get(path + ':large'), large)
        still = self.path('frozen', 'f')
        self.assertEqual(self.tree.get(still), b'data')
        with self.tree.open(still, access=smb.FILE_READ_ATTRIBUTES) as h:
            self.assertEqual(len(h.streams()), 2)
        with self.assertRaises(NTError):
            self.tree.get(still + ':large')
        self.tree.remove(path)
        for name in one, two, frozen:
            self.btrfs('delete', name)


class Bare(OneRound):
    """B53: a file system without user xattrs; ntvfs:xattr store."""

    def setUp(self):
        self.backend_is('posix')
        self.require(NO_XATTRS)
        smb_test.SmbTest.setUp(self)

    def test_B53_the_file_system_has_no_xattrs(self):
        """What the other tests here assume."""
        path = os.path.join(self.env.smbd.share('bare-tdb').path, 'probe')
        with open(path, 'w'):
            pass
        with self.assertRaises(OSError):
            os.setxattr(path, 'user.x', b'x')
        os.unlink(path)

    def test_B53_auto_serves_or_refuses_clearly(self):
        before = len(self.log())
        try:
            tree = self.connect('bare-auto')
        except NTError:
            self.assertRegex(self.log()[before:], r'ntvfs.*xattr')
            return
        self.dir = 'auto'
        tree.mkdir(self.dir)
        self.round_on(tree)

    def test_B53_fs_is_refused_clearly(self):
        before = len(self.log())
        with self.assertRaises(NTError):
            self.connect('bare-fs')
        said = [line for line in self.log()[before:].splitlines()
                if 'ntvfs' in line and 'xattr' in line]
        self.assertEqual(len(said), 1, said)

    def test_B53_tdb_serves(self):
        self.round('bare-tdb')

    def test_B53_tdb_on_a_file_system_with_xattrs(self):
        self.round('tdb')

    def test_B53_tdb_leaves_no_xattr(self):
        tree = self.connect('tdb')
        tree.put('f', b'data')
        tree.set_basic('f', *TIMES, attributes=smb.HIDDEN)
        self.assertEqual(os.listxattr(self.env.local('tdb', 'f')), [])

    def lasting(self, share):
        tree = self.connect(share)
        tree.put('lasting', b'data')
        tree.put('lasting:s', b'stream', disposition=smb.OPEN_IF)
        tree.set_basic('lasting', *TIMES, attributes=smb.HIDDEN)
        self.env.smbd.restart()
        tree = self.connect(share)
        basic = tree.basic('lasting')
        self.assertEqual(basic.attributes, smb.HIDDEN)
        self.assert_time(basic.create, TIMES[0], 'creation time')
        self.assertEqual(tree.get('lasting:s'), b'stream')
        tree.remove('lasting')
        # A new file in the same place must not get the old metadata.
        tree.put('lasting', b'new')
        basic = tree.basic('lasting')
        self.assertEqual(basic.attributes, smb.ARCHIVE)
        self.assert_now(basic.create, 'creation time')
        with tree.open('lasting', access=smb.FILE_READ_ATTRIBUTES) as h:
            self.assertEqual(list(h.streams()), ['::$DATA'])

    def test_B53_tdb_survives_restart_of_smbd(self):
        self.lasting('bare-tdb')

    def test_B53_tdb_with_xattrs_survives_restart_of_smbd(self):
        self.lasting('tdb')

    def test_B53_a_local_file_in_the_place_of_a_deleted_one(self):
        """Deleted and made anew by a local program: an inode number may
        come back, the old metadata must not."""
        tree = self.connect('tdb')
        for i in range(50):
            tree.put('f', b'x')
            tree.set_basic('f', create=TIMES[0], attributes=smb.HIDDEN)
            local = self.env.local('tdb', 'f')
            os.unlink(local)
            with open(local, 'w') as f:
                f.write('new')
            uid = self.env.smbd.user('nt').uid
            os.chown(local, uid, uid)
            basic = tree.basic('f')
            self.assertFalse(basic.attributes & smb.HIDDEN, i)
            self.assert_now(basic.create, 'creation time')
            tree.remove('f')

    def test_B53_volume_flags_tell_the_truth(self):
        tree = self.connect('bare-tdb')
        with tree.open('') as h:
            flags = h.fs_attribute()[0]
        tree.put('f')
        try:
            tree.put('f:s', b'x', disposition=smb.OPEN_IF)
            works = True
        except NTError:
            works = False
        self.assertEqual(bool(flags & 0x40000), works, 'streams')
        tree.remove('f')


if __name__ == '__main__':
    smb_test.main()
