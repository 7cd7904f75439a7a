#!/usr/bin/python3
# More metadata than fits into a file, over SMB: many streams, long names of
# streams, large descriptors and EAs, on file systems with different limits.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import backends
import smb2_client as smb
import smb_test
import stored
from smb2_client import NTError

VOLUMES = {
    'over_ext4': (['mkfs.ext4', '-q', '-F', '-b', '4096'], 64),
    'over_xfs': (['mkfs.xfs', '-q'], 512),
    'over_btrfs': (['mkfs.btrfs', '-q'], 256),
    'over_full': (['mkfs.ext4', '-q', '-F', '-m', '0', '-b', '4096',
                   '-O', '^has_journal'], 16),
}
MISSING = {}
TDB_SHARE = 'over_tdb'

MANY = 60


def shares(env):
    made = []
    for name, (mkfs, megabytes) in VOLUMES.items():
        MISSING[name] = None
        if env.backend != 'posix':
            MISSING[name] = 'about how the posix backend stores things'
            continue
        MISSING[name] = env.mount_image(name, mkfs, megabytes)
        if MISSING[name] is None:
            made.append(env.share(name))
    if env.backend == 'posix':
        options = backends.share_options(env.backend)
        options['ntvfs:xattr store'] = 'tdb'
        made.append(env.share(TDB_SHARE, options))
    return made


def content(i):
    return b'%03d' % i * (i * 7 % 60)


class Volume(smb_test.SmbTest):

    def setUp(self):
        self.require(MISSING[self.SHARE])
        smb_test.SmbTest.setUp(self)

    def put(self, name, data=b''):
        path = self.path(name)
        self.tree.put(path, data)
        return path

    def streams(self, path, tree=None):
        with (tree or self.tree).open(path) as h:
            return {name: size for name, size in h.streams().items()
                    if name != '::$DATA'}

    def many(self, path, count=MANY):
        for i in range(count):
            self.tree.put('%s:s%d' % (path, i), content(i))

    def assert_many(self, path, numbers=range(MANY), tree=None):
        tree = tree or self.tree
        self.assertEqual(self.streams(path, tree),
                         {':s%d:$DATA' % i: len(content(i))
                          for i in numbers})
        for i in numbers:
            self.assertEqual(tree.get('%s:s%d' % (path, i)), content(i), i)

    def stream_files(self):
        top = os.path.join(self.env.local(self.SHARE), '.ntvfs', 'streams')
        return sum(len(files) for _, _, files in os.walk(top))

    def owner(self):
        path = self.put('whose')
        with self.tree.open(path, access=smb.READ_CONTROL) as h:
            sid = stored.parse_descriptor(h.security()).owner_sid
        return str(sid)

    def descriptor(self, count):
        """As large as those of domain users are, count entries."""
        sddl = 'D:P(A;;FA;;;%s)' % self.owner()
        sddl += ''.join('(A;;FR;;;S-1-5-21-1111111111-2222222222-3333333333-'
                        '%d)' % (10000 + i) for i in range(count - 1))
        return stored.descriptor(sddl)

    def set_descriptor(self, path, descriptor):
        with self.tree.open(path, access=smb.WRITE_DAC) as h:
            h.set_security(descriptor)

    def get_descriptor(self, path):
        with self.tree.open(path, access=smb.READ_CONTROL) as h:
            return h.security()

    def aces(self, path):
        return len(stored.parse_descriptor(
            self.get_descriptor(path)).dacl.aces)


class Everywhere:
    """What holds on each file system."""

    def test_many_streams(self):
        files = self.stream_files()
        path = self.put('f', b'main')
        self.many(path)
        self.assert_many(path)
        self.env.smbd.restart()
        self.tree = self.connect()
        self.assert_many(path)
        self.tree.rename(path, self.path('g'))
        path = self.path('g')
        self.assert_many(path)
        for i in range(0, MANY, 2):
            self.tree.remove('%s:s%d' % (path, i))
        self.assert_many(path, range(1, MANY, 2))
        self.assertEqual(self.tree.get(path), b'main')
        self.tree.remove(path)
        self.assertEqual(self.stream_files(), files)
        self.put('g')
        self.assertEqual(self.streams(path), {})

    def test_many_streams_of_a_directory(self):
        files = self.stream_files()
        path = self.path('d')
        self.tree.mkdir(path)
        self.many(path)
        self.assert_many(path)
        self.tree.remove(path)
        self.assertEqual(self.stream_files(), files)

    def test_many_streams_by_two_links(self):
        path = self.put('f', b'main')
        self.many(path)
        with self.tree.open(path) as h:
            h.link(self.path('g'))
        self.assert_many(self.path('g'))
        self.tree.remove(self.path('g') + ':s3')
        self.assertNotIn(':s3:$DATA', self.streams(path))

    def test_another_client_sees_each_stream(self):
        path = self.put('f', b'main')
        other = self.connect()
        for i in range(MANY):
            self.tree.put('%s:s%d' % (path, i), content(i))
            self.assert_many(path, [i], other) if i == 0 else \
                self.assertEqual(len(self.streams(path, other)), i + 1)
        self.assert_many(path, tree=other)

    def test_replaced_file_loses_its_many_streams(self):
        files = self.stream_files()
        old = self.put('old', b'O')
        self.many(old)
        new = self.put('new', b'N')
        self.tree.rename(new, old, True)
        self.assertEqual(self.tree.get(old), b'N')
        self.assertEqual(self.streams(old), {})
        self.assertEqual(self.stream_files(), files)

    def test_streams_renamed_among_many(self):
        path = self.put('f')
        self.many(path)
        self.tree.rename(path + ':s59', ':t', False)
        self.tree.rename(path + ':s0', ':s58', True)
        self.assertEqual(self.tree.get(path + ':t'), content(59))
        self.assertEqual(self.tree.get(path + ':s58'), content(0))
        self.assertEqual(len(self.streams(path)), MANY - 1)

    def test_streams_that_grow_among_many(self):
        path = self.put('f')
        self.many(path)
        for i in range(0, MANY, 10):
            with self.tree.open('%s:s%d' % (path, i)) as h:
                h.write(b'more' * 5000)
            self.assertEqual(self.tree.get('%s:s%d' % (path, i)),
                             b'more' * 5000)
        self.assertEqual(self.tree.get(path + ':s1'), content(1))

    def test_B25_longest_names(self):
        """255 units, three bytes each."""
        path = self.put('f')
        one, two = '\u65e5' * 255, '\u672c' * 255
        self.tree.put(path + ':' + one, b'data')
        self.assertEqual(self.tree.get(path + ':' + one), b'data')
        self.assertEqual(self.streams(path), {':%s:$DATA' % one: 4})
        self.tree.put(path + ':' + one, b'more' * 5000)
        self.tree.rename(path + ':' + one, ':' + two, False)
        self.assertEqual(self.tree.get(path + ':' + two), b'more' * 5000)
        self.assertEqual(self.streams(path), {':%s:$DATA' % two: 20000})
        self.tree.remove(path + ':' + two)
        self.assertEqual(self.streams(path), {})

    def test_B46_descriptors_beside_streams(self):
        """Equal, or refused with the old one kept; no stream is lost."""
        path = self.put('f', b'main')
        self.many(path, 30)
        for count in (50, 60, 120, 1024, 1700):
            before = self.get_descriptor(path)
            try:
                self.set_descriptor(path, self.descriptor(count))
            except NTError as e:
                self.assertEqual(smb.status_name(e.status),
                                 'FILE_SYSTEM_LIMITATION')
                self.assertGreater(count, 60)
                self.assertEqual(self.get_descriptor(path), before)
            else:
                self.assertEqual(self.aces(path), count)
            self.assert_many(path, range(30))

    def test_B46_streams_beside_a_descriptor(self):
        path = self.put('f', b'main')
        self.set_descriptor(path, self.descriptor(90))
        self.assertEqual(self.aces(path), 90)
        self.many(path)
        self.assert_many(path)
        self.assertEqual(self.aces(path), 90)

    def test_attributes_and_eas_beside_streams(self):
        path = self.put('f', b'main')
        self.many(path)
        self.tree.set_basic(path, attributes=smb.HIDDEN,
                            create=smb.filetime(2001))
        with self.tree.open(path) as h:
            h.set_eas([('FOO', b'v' * 1000)])
            h.set_eas([('BAR', b'w' * 100)])
            self.assertEqual(sorted(h.eas()), [('BAR', b'w' * 100),
                                               ('FOO', b'v' * 1000)])
        self.assert_many(path)
        basic = self.tree.basic(path)
        self.assertEqual(basic.attributes, smb.HIDDEN)
        self.assert_time(basic.create, smb.filetime(2001))

    def test_B47_too_large_eas(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.set_eas([('KEPT', b'value')])
            for size in (3000, 5000, 20000, 60000):
                before = sorted(h.eas())
                try:
                    h.set_eas([('BIG', b'x' * size)])
                except NTError as e:
                    self.assertEqual(smb.status_name(e.status),
                                     'ALLOTTED_SPACE_EXCEEDED')
                    self.assertGreater(size, 3000)
                    self.assertEqual(sorted(h.eas()), before)
                else:
                    self.assertEqual(dict(h.eas()), {'KEPT': b'value',
                                                     'BIG': b'x' * size})


class Ext4(Everywhere, Volume):
    SHARE = 'over_ext4'


class Xfs(Everywhere, Volume):
    SHARE = 'over_xfs'


class Btrfs(Everywhere, Volume):
    SHARE = 'over_btrfs'


class Tool(Volume):
    """ntvfs-xattr, as an administrator uses it."""

    SHARE = 'over_ext4'
    PROGRAM = os.path.join(backends.TOP, 'bin', 'ntvfs-xattr')

    def run_tool(self, *arguments, status=0):
        done = subprocess.run([self.PROGRAM, *arguments], text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def dump(self, *names):
        shown, = json.loads(self.run_tool('dump', '--json',
                                          self.local(*names)))
        self.assertEqual(shown['bad_count'], 0)
        return shown['xattrs']

    def test_dump_of_many_streams(self):
        path = self.put('f')
        self.many(path)
        shown = self.dump('f')
        streams = {value['name'].split(':')[0]: value['size']
                   for value in shown
                   if value['kind'] in ('stream', 'stream_file')}
        self.assertEqual(streams, {'s%d' % i: len(content(i))
                                   for i in range(MANY)})
        elsewhere = [value for value in shown if 'store' in value]
        self.assertGreater(len(elsewhere), 10)
        tdb = os.path.join(self.env.local(self.SHARE), '.ntvfs',
                           'overflow.tdb')
        self.assertEqual({value['store'] for value in elsewhere}, {tdb})
        self.assertIn('in ' + tdb, self.run_tool('dump', self.local('f')))

    def test_dump_on_a_share_with_a_tdb(self):
        tree = self.connect(TDB_SHARE)
        tree.put('f', b'main', attributes=smb.HIDDEN)
        tree.put('f:s', b'stream')
        path = self.env.local(TDB_SHARE, 'f')
        shown, = json.loads(self.run_tool('dump', '--json', path))
        kinds = {value['kind'] for value in shown['xattrs']
                 if value.get('store', '').endswith('/.ntvfs/xattr.tdb')}
        self.assertLessEqual({'dosattrib', 'stream'}, kinds)
        tree.remove('f')

    def test_check(self):
        top = self.env.local(self.SHARE)
        # what the tests before this one have removed locally
        self.run_tool('check', '--remove-unused', top)
        kept = self.put('kept')
        self.many(kept)
        self.many(self.put('gone'), 50)
        self.assertIn(' 0 found', self.run_tool('check', top))
        os.unlink(self.local('gone'))
        # its record is of no use, its files are too young to be judged
        shown = self.run_tool('check', top, status=1)
        self.assertIn('which is gone', shown)
        shown = self.run_tool('check', '--remove-unused', top)
        self.assertIn('which is gone; removed', shown)
        self.assertIn(' 0 found', self.run_tool('check', top))
        self.assert_many(kept)


class Full(Volume):
    """DISK_FULL is said when the disk is full, and only then."""

    SHARE = 'over_full'

    def fill(self):
        for size in (1 << 20, 4096):
            i = 0
            try:
                while True:
                    with self.tree.create(self.path('fill%d.%d' % (size, i))) \
                            as h:
                        h.write_once(b'f' * size)
                    i += 1
            except NTError as e:
                self.assertEqual(smb.status_name(e.status), 'DISK_FULL')

    def disk_full(self, call, *arguments, **keywords):
        self.assert_status('DISK_FULL', call, *arguments, **keywords)

    def test_B54_crowded_file_on_a_full_volume(self):
        path = self.put('f', b'main')
        other = self.put('g', b'other')
        self.set_descriptor(path, self.descriptor(80))
        self.many(path, 30)
        self.many(other, 10)
        self.fill()
        self.disk_full(self.tree.put, path + ':new', b'data')
        self.disk_full(self.tree.put, path + ':' + 'n' * 250, b'data')
        with self.tree.open(other) as h:
            self.disk_full(h.set_eas, [('EA', b'x' * 3900)])
        before = self.get_descriptor(other)
        self.disk_full(self.set_descriptor, other, self.descriptor(80))
        self.assertEqual(self.get_descriptor(other), before)
        self.assert_many(path, range(30))
        self.assert_many(other, range(10))
        # what is there can go
        self.tree.remove(path + ':s29')
        self.tree.remove(path + ':s0')
        self.assert_many(path, range(1, 29))
        self.tree.remove(path)
        self.assertFalse(self.tree.exists(path))
        self.tree.put(self.path('again'), b'x' * 4096)


if __name__ == '__main__':
    smb_test.main()
