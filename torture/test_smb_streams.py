#!/usr/bin/python3
# Alternate data streams over SMB: sizes, names, life with their file.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import sys

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
import stored
from smb2_client import NTError, STATUS, filetime

MIB = 1 << 20


def pattern(length, seed=0):
    """Data whose every 64 KiB differ."""
    block = bytes((i * 7 + seed) & 0xff for i in range(4096))
    out = b''.join(b'%08d' % n + block[8:]
                   for n in range((length + 4095) // 4096))
    return out[:length]


class Streams(smb_test.SmbTest):

    def put(self, name, data=b''):
        path = self.path(name)
        self.tree.put(path, data)
        return path

    def big(self, length=300000):
        """Data for a stream that no xattr can hold. Stock keeps streams in
        xattrs only: there the sequence runs with what fits."""
        return pattern(1000 if self.env.backend == 'stock' else length)

    def streams(self, path):
        with self.tree.open(path) as h:
            return h.streams()

    def assert_streams(self, path, want):
        got = {name: size for name, size in self.streams(path).items()
               if name != '::$DATA'}
        self.assertEqual(got, {':%s:$DATA' % name: size
                               for name, size in want.items()})

    # The common acts.

    def test_write_and_read_back(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':s', b'stream')
        self.assertEqual(self.tree.get(path + ':s'), b'stream')
        self.assertEqual(self.tree.get(path), b'main')
        self.assert_streams(path, {'s': 6})

    def test_streams_of_a_directory(self):
        path = self.path('d')
        self.tree.mkdir(path)
        self.tree.put(path + ':s', b'stream')
        self.assertEqual(self.tree.get(path + ':s'), b'stream')
        self.assertEqual(self.streams(path), {':s:$DATA': 6})

    def test_a_stream_creates_its_file(self):
        path = self.path('f')
        self.tree.put(path + ':s', b'stream')
        self.assertEqual(self.tree.get(path), b'')
        self.assertEqual(self.streams(path), {'::$DATA': 0, ':s:$DATA': 6})

    def test_streams_survive_rename_of_the_file(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':small', b'stream')
        big = self.big()
        self.tree.put(path + ':big', big)
        self.tree.rename(path, self.path('g'))
        self.assertEqual(self.tree.get(self.path('g') + ':small'), b'stream')
        self.assertEqual(self.tree.get(self.path('g') + ':big'), big)
        self.assertFalse(self.tree.exists(path))

    def test_streams_survive_rename_of_the_directory_above(self):
        self.tree.mkdir(self.path('d'))
        big = self.big()
        self.tree.put(self.path('d', 'f:big'), big)
        self.tree.put(self.path('d', 'f:small'), b'x')
        self.tree.rename(self.path('d'), self.path('e'))
        self.assertEqual(self.tree.get(self.path('e', 'f:big')), big)
        self.assertEqual(self.tree.get(self.path('e', 'f:small')), b'x')

    def test_stream_by_both_hard_links(self):
        path = self.put('f', b'main')
        big = self.big()
        self.tree.put(path + ':big', big)
        with self.tree.open(path) as h:
            h.link(self.path('g'))
        self.assertEqual(self.tree.get(self.path('g') + ':big'), big)

    def test_stream_outlives_one_of_two_hard_links(self):
        path = self.put('f', b'main')
        big = self.big()
        self.tree.put(path + ':big', big)
        with self.tree.open(path) as h:
            h.link(self.path('g'))
        self.tree.remove(path)
        self.assertEqual(self.tree.get(self.path('g') + ':big'), big)

    def test_streams_go_with_their_file(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':small', b'stream')
        self.tree.put(path + ':big', self.big())
        self.tree.remove(path)
        self.put('f')
        self.assert_streams(path, {})
        self.assert_status('OBJECT_NAME_NOT_FOUND', self.tree.open,
                           path + ':big')

    def test_overwrite_drops_the_streams(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':small', b'stream')
        self.tree.put(path + ':big', self.big())
        self.tree.put(path, b'new', disposition=smb.OVERWRITE)
        self.assert_streams(path, {})

    def test_supersede_drops_the_streams(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':small', b'stream')
        self.tree.put(path, b'new', disposition=smb.SUPERSEDE)
        self.assert_streams(path, {})

    def test_replaced_file_loses_its_streams(self):
        old = self.put('old', b'O')
        self.tree.put(old + ':gone', self.big())
        new = self.put('new', b'N')
        self.tree.put(new + ':kept', b'k')
        self.tree.rename(new, old, True)
        self.assertEqual(self.tree.get(old), b'N')
        self.assert_streams(old, {'kept': 1})

    def test_overwrite_of_a_stream_leaves_the_rest(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':a', b'aaa')
        self.tree.put(path + ':b', b'bbb')
        self.tree.put(path + ':a', b'new', disposition=smb.OVERWRITE)
        self.assertEqual(self.tree.get(path + ':a'), b'new')
        self.assertEqual(self.tree.get(path + ':b'), b'bbb')
        self.assertEqual(self.tree.get(path), b'main')

    def test_delete_of_a_stream_leaves_the_rest(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':a', b'aaa')
        self.tree.put(path + ':b', b'bbb')
        self.tree.put(path + ':big', self.big())
        self.tree.remove(path + ':a')
        self.tree.remove(path + ':big')
        self.assert_streams(path, {'b': 3})
        self.assertEqual(self.tree.get(path), b'main')

    def test_rename_of_a_stream(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':a', b'aaa')
        self.tree.rename(path + ':a', ':c')
        self.assert_streams(path, {'c': 3})
        self.assertEqual(self.tree.get(path + ':c'), b'aaa')

    def test_rename_of_a_big_stream(self):
        path = self.put('f', b'main')
        big = self.big()
        self.tree.put(path + ':a', big)
        self.tree.rename(path + ':a', ':c')
        self.assert_streams(path, {'c': len(big)})
        self.assertEqual(self.tree.get(path + ':c'), big)

    def test_rename_of_a_stream_onto_another(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':a', b'aaa')
        self.tree.put(path + ':b', b'bbbb')
        self.assert_status('OBJECT_NAME_COLLISION', self.tree.rename,
                           path + ':a', ':b')
        self.tree.rename(path + ':a', ':b', True)
        self.assert_streams(path, {'b': 3})

    def test_rename_of_a_stream_onto_an_open_one(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':a', b'aaa')
        self.tree.put(path + ':b', b'bbbb')
        with self.tree.open(path + ':b') as h:
            self.assert_status('INVALID_PARAMETER', self.tree.rename,
                               path + ':a', ':b', True)
            self.assertEqual(h.read(4), b'bbbb')
        self.assert_streams(path, {'a': 3, 'b': 4})

    def test_rename_of_a_stream_to_the_main_data(self):
        for data in (b'', b'aaa', self.big()):
            path = self.put('f%d' % len(data))
            self.tree.put(path + ':a', data)
            self.tree.put(path + ':b', b'bbbb')
            with self.tree.open(path + ':a') as h:
                self.assert_status('OBJECT_NAME_COLLISION', h.rename,
                                   '::$DATA')
                h.rename('::$DATA', True)
                self.assertEqual(h.end_of_file(), len(data))
                self.assertEqual(h.read_all(), data)
                h.write(b'more', len(data))
            self.assertEqual(self.tree.get(path), data + b'more')
            self.assert_streams(path, {'b': 4})

    def test_rename_of_a_stream_replaces_no_main_data(self):
        """Neither what is there is lost, nor what somebody may write."""
        path = self.put('f', b'main')
        self.tree.put(path + ':a', b'aaa')
        self.assert_status('INVALID_PARAMETER', self.tree.rename,
                           path + ':a', '::$DATA', True)
        self.assertEqual(self.tree.get(path), b'main')
        self.assert_streams(path, {'a': 3})
        with self.tree.open(path) as h:
            h.set_end_of_file(0)
            self.assert_status('INVALID_PARAMETER', self.tree.rename,
                               path + ':a', '::$DATA', True)
        self.assertEqual(self.tree.get(path), b'')
        self.assertEqual(self.tree.get(path + ':a'), b'aaa')

    def test_rename_of_a_stream_of_a_directory_to_the_main_data(self):
        path = self.path('d')
        self.tree.mkdir(path)
        self.tree.put(path + ':a', b'aaa')
        self.assertRaises(NTError, self.tree.rename, path + ':a', '::$DATA',
                          True)
        self.assertEqual(self.tree.get(path + ':a'), b'aaa')

    def test_rename_of_a_file_with_an_open_stream(self):
        """Refused, as smb2.streams.basefile-rename-with-open-stream says."""
        path = self.put('f', b'main')
        self.tree.put(path + ':big', self.big())
        with self.tree.open(path + ':big') as h:
            self.assert_status('ACCESS_DENIED', self.tree.rename, path,
                               self.path('g'))
            h.write(b'later', 0)
            self.assertEqual(h.read(5), b'later')
        self.assertEqual(self.tree.get(path + ':big')[:5], b'later')
        self.assertFalse(self.tree.exists(self.path('g')))

    def test_handle_on_a_stream_survives_rename_of_the_directory(self):
        self.tree.mkdir(self.path('d'))
        path = self.path('d', 'f')
        self.tree.put(path + ':big', self.big())
        try:
            with self.tree.open(path + ':big') as h:
                self.tree.rename(self.path('d'), self.path('e'))
                path = self.path('e', 'f')
                h.write(b'later', 0)
                self.assertEqual(h.read(5), b'later')
        except NTError as e:
            # Refusing is what NTFS does; then nothing has moved.
            self.assertEqual(e.status, STATUS['ACCESS_DENIED'])
            return
        self.assertEqual(self.tree.get(path + ':big')[:5], b'later')

    def test_some_streams(self):
        self.many_streams(20)

    def test_many_streams(self):
        self.many_streams(60)

    def many_streams(self, count):
        path = self.put('f')
        want = {}
        for i in range(count):
            self.tree.put('%s:stream%03d' % (path, i), b'x' * (i * 3))
            want['stream%03d' % i] = i * 3
        self.assert_streams(path, want)

    # B19: sizes act on the stream that is open.

    def test_B19_end_of_file_of_a_stream(self):
        path = self.put('f', pattern(100000))
        self.tree.put(path + ':s', b'x')
        with self.tree.open(path + ':s') as h:
            h.set_end_of_file(26)
            self.assertEqual(h.end_of_file(), 26)
        with self.tree.open(path) as h:
            self.assertEqual(h.end_of_file(), 100000)
        self.assertEqual(self.tree.get(path), pattern(100000))
        self.assertEqual(self.tree.get(path + ':s'), b'x' + b'\0' * 25)
        with self.tree.open(path + ':s') as h:
            h.set_end_of_file(0)
        self.assertEqual(self.tree.get(path), pattern(100000))
        self.assert_streams(path, {'s': 0})

    def test_B19_end_of_file_of_the_file(self):
        path = self.put('f', pattern(100000))
        self.tree.put(path + ':s', b'x' * 26)
        big = self.big()
        self.tree.put(path + ':big', big)
        with self.tree.open(path) as h:
            h.set_end_of_file(10)
        self.assert_streams(path, {'s': 26, 'big': len(big)})
        self.assertEqual(self.tree.get(path + ':big'), big)

    def test_B19_end_of_file_grows_a_stream_with_zeros(self):
        path = self.put('f')
        for size in (100, 5000, 65536, 65537, 1000000):
            self.tree.put(path + ':s', b'abc')
            with self.tree.open(path + ':s') as h:
                h.set_end_of_file(size)
            self.assertEqual(self.tree.get(path + ':s'),
                             b'abc' + b'\0' * (size - 3))

    def test_B19_end_of_file_shrinks_a_big_stream(self):
        path = self.put('f')
        data = pattern(1000000)
        for size in (65537, 65536, 65535, 100, 0):
            self.tree.put(path + ':s', data)
            with self.tree.open(path + ':s') as h:
                h.set_end_of_file(size)
            self.assertEqual(self.tree.get(path + ':s'), data[:size])

    def test_B19_allocation_of_a_stream(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':s', b'x' * 1000)
        with self.tree.open(path + ':s') as h:
            h.set_allocation(0)
            self.assertEqual(h.end_of_file(), 0)
            h.set_allocation(2000)
            self.assertEqual(h.end_of_file(), 0)
        self.assertEqual(self.tree.get(path), b'main')

    def test_B19_size_by_handle(self):
        path = self.put('f', b'main')
        data = self.big()
        self.tree.put(path + ':s', data)
        with self.tree.open(path + ':s') as h:
            self.assertEqual(h.size, len(data))
            self.assertEqual(h.end_of_file(), len(data))
        with self.tree.open(path) as h:
            self.assertEqual(h.size, 4)

    # B20: any size is kept, or the write fails and the old content stays.

    def stored_or_refused(self, stream, write, wanted):
        """write(handle) on an existing stream; all of it or nothing."""
        path = self.put('f', b'main')
        self.tree.put(path + stream, b'old content')
        try:
            with self.tree.open(path + stream) as h:
                write(h)
        except NTError as e:
            self.assertEqual(smb.status_name(e.status),
                             'FILE_SYSTEM_LIMITATION')
            self.assertEqual(self.tree.get(path + stream), b'old content')
            return
        self.assertEqual(self.tree.get(path + stream), wanted)
        self.assertEqual(self.tree.get(path), b'main')

    def test_B20_byte_at_65535(self):
        self.stored_or_refused(
            ':s', lambda h: h.write(b'Z', 65535),
            b'old content' + b'\0' * (65535 - 11) + b'Z')

    def test_B20_byte_at_65536(self):
        self.stored_or_refused(
            ':s', lambda h: h.write(b'Z', 65536),
            b'old content' + b'\0' * (65536 - 11) + b'Z')

    def test_B20_128_kib_at_once(self):
        data = pattern(131072)
        self.stored_or_refused(':s', lambda h: h.write_once(data), data)

    def test_B20_2_mib(self):
        data = pattern(2 * MIB)
        path = self.put('f', b'main')
        self.tree.put(path + ':s', data)
        self.assertEqual(self.tree.get(path + ':s'), data)
        self.assert_streams(path, {'s': 2 * MIB})

    def test_B20_posix_stores_any_size(self):
        self.backend_is('posix', 'native')
        path = self.put('f', b'main')
        for size in (3000, 4000, 4096, 5000, 60000, 65535, 65536, 65537,
                     131072, 2 * MIB):
            data = pattern(size, size)
            self.tree.put(path + ':s', data)
            self.assertEqual(self.tree.get(path + ':s'), data)
            self.assert_streams(path, {'s': size})

    def test_B20_growing_step_by_step(self):
        path = self.put('f', b'main')
        data = pattern(200000)
        step = 7919
        with self.tree.open(path + ':s',
                            disposition=smb.OPEN_IF) as h:
            for start in range(0, len(data), step):
                h.write(data[start:start + step], start)
        self.assertEqual(self.tree.get(path + ':s'), data)

    def test_B20_growing_with_a_second_reader(self):
        """A stream that outgrows its xattr while another has it open."""
        path = self.put('f', b'main')
        self.tree.put(path + ':s', b'start')
        data = pattern(200000)
        with self.tree.open(path + ':s') as reader, \
                self.tree.open(path + ':s') as writer:
            self.assertEqual(reader.read(5), b'start')
            writer.write(data)
            self.assertEqual(reader.read_all(), data)
            writer.set_end_of_file(3)
            self.assertEqual(reader.read_all(), data[:3])

    def test_B20_two_big_streams_on_one_file(self):
        path = self.put('f', b'main')
        a, b = pattern(200000, 1), pattern(300000, 2)
        self.tree.put(path + ':a', a)
        self.tree.put(path + ':b', b)
        self.assertEqual(self.tree.get(path + ':a'), a)
        self.assertEqual(self.tree.get(path + ':b'), b)

    def test_B20_big_streams_are_invisible_in_listings(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':s', pattern(2 * MIB))
        self.assertEqual(self.tree.names(self.dir), ['f'])
        names = self.tree.names('')
        self.assertEqual([n for n in names if n.startswith('.')], [])

    def test_B20_big_stream_survives_restart_of_smbd(self):
        path = self.put('f', b'main')
        data = pattern(2 * MIB)
        self.tree.put(path + ':s', data)
        self.env.smbd.restart()
        self.tree = self.connect()
        self.assertEqual(self.tree.get(path + ':s'), data)

    # B22: names that equal internal xattrs.

    def test_B22_streams_named_like_internal_xattrs(self):
        path = self.put('f', b'main')
        self.tree.set_basic(path, attributes=smb.HIDDEN,
                            create=filetime(2001))
        with self.tree.open(path) as h:
            before = h.security()
        names = ('DosAttrib', 'NTACL', 'DosEAs', 'DosStreams',
                 'security.NTACL', 'user.DOSATTRIB', 'DosStream.x',
                 'SAMBA_PAI')
        for name in names:
            self.tree.put(path + ':' + name, b'junk' + name.encode())
        basic = self.tree.basic(path)
        self.assert_time(basic.create, filetime(2001), 'creation time')
        with self.tree.open(path) as h:
            self.assertEqual(h.security(), before)
            self.assertEqual(h.eas(), [])
        self.assert_streams(path, {n: 4 + len(n) for n in names})
        for name in names:
            self.assertEqual(self.tree.get(path + ':' + name),
                             b'junk' + name.encode())

    def test_B22_stream_named_DOSATTRIB(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':DOSATTRIB', b'junk')
        self.tree.set_basic(path, attributes=smb.HIDDEN,
                            create=filetime(2001))
        self.assertEqual(self.tree.get(path + ':DOSATTRIB'), b'junk')
        self.assertEqual(self.tree.attributes(path), smb.HIDDEN)

    def test_B22_a_new_stream_leaves_the_attributes(self):
        path = self.put('f', b'main')
        for name in ('s', 'DOSATTRIB', 'DosAttrib'):
            self.tree.set_basic(path, attributes=smb.HIDDEN | smb.SYSTEM)
            self.tree.put(path + ':' + name, b'junk',
                          disposition=smb.OPEN_IF)
            self.assertEqual(self.tree.attributes(path) & ~smb.ARCHIVE,
                             smb.HIDDEN | smb.SYSTEM, name)

    def test_B22_eas_and_streams_are_apart(self):
        path = self.put('f', b'main')
        with self.tree.open(path) as h:
            h.set_eas([('SAME', b'ea')])
        self.tree.put(path + ':SAME', b'stream')
        with self.tree.open(path) as h:
            self.assertEqual(h.eas(), [('SAME', b'ea')])
        self.tree.remove(path + ':SAME')
        with self.tree.open(path) as h:
            self.assertEqual(h.eas(), [('SAME', b'ea')])

    # B24: the volume's flags tell the truth.

    FLAGS = {'case preserved': 0x2, 'ACLs': 0x8, 'sparse': 0x40,
             'reparse points': 0x80, 'streams': 0x40000,
             'hard links': 0x400000, 'EAs': 0x800000}

    def flag(self, name):
        with self.tree.open('') as h:
            return bool(h.fs_attribute()[0] & self.FLAGS[name])

    def works(self, operation, *arguments):
        try:
            operation(*arguments)
        except NTError:
            return False
        return True

    def test_B24_streams(self):
        path = self.put('f')
        self.assertTrue(self.flag('streams'))
        self.assertTrue(self.works(self.tree.put, path + ':s', b'x'))

    def test_B24_case_preserved(self):
        self.put('MiXed')
        self.assertTrue(self.flag('case preserved'))
        self.assertEqual(self.tree.names(self.dir), ['MiXed'])

    def test_B24_acls(self):
        path = self.put('f')
        self.assertTrue(self.flag('ACLs'))
        with self.tree.open(path, access=smb.ALL_ACCESS) as h:
            h.set_security(h.security())

    def test_B24_sparse(self):
        path = self.put('f', b'x')
        with self.tree.open(path) as h:
            works = self.works(h.set_sparse)
        self.assertEqual(self.flag('sparse'), works)

    def test_B24_hard_links(self):
        path = self.put('f', b'x')
        with self.tree.open(path) as h:
            works = self.works(h.link, self.path('g'))
        self.assertEqual(self.flag('hard links'), works)

    def test_B24_eas(self):
        path = self.put('f', b'x')
        with self.tree.open(path) as h:
            works = self.works(h.set_eas, [('A', b'b')])
        self.assertEqual(self.flag('EAs'), works)

    def test_B24_reparse_points(self):
        path = self.put('f')
        mount_point = bytes.fromhex('0c0000a0') + b'\x10\0\0\0' + b'\0' * 16
        with self.tree.open(path) as h:
            works = self.works(h.ioctl, smb.FSCTL_SET_REPARSE_POINT,
                               mount_point)
        self.assertEqual(self.flag('reparse points'), works)

    # B25: names of streams.

    def test_B25_case(self):
        path = self.put('f')
        self.tree.put(path + ':Mark', b'data')
        for name in ('Mark', 'MARK', 'mark'):
            self.assertEqual(self.tree.get(path + ':' + name), b'data')
        self.assert_streams(path, {'Mark': 4})
        self.tree.put(path + ':mARK', b'more!', disposition=smb.OVERWRITE_IF)
        self.assert_streams(path, {'Mark': 5})

    def test_B25_case_of_a_big_stream(self):
        path = self.put('f')
        self.tree.put(path + ':Mark', self.big())
        self.assertEqual(self.tree.get(path + ':MARK'), self.big())
        self.assert_streams(path, {'Mark': len(self.big())})

    def test_B25_case_beyond_ascii(self):
        path = self.put('f')
        self.tree.put(path + ':Stra\u00dfe \u00c4\u044f', b'data')
        self.assertEqual(self.tree.get(path + ':STRA\u00dfE \u00e4\u042f'),
                         b'data')

    def test_B25_wildcards_are_legal(self):
        path = self.put('f')
        for name in '?a*', '<', 'a>b', 'x|y', 'q"q':
            self.tree.put(path + ':' + name, name.encode())
        for name in '?a*', '<', 'a>b', 'x|y', 'q"q':
            self.assertEqual(self.tree.get(path + ':' + name),
                             name.encode())

    def test_B25_backslash_and_slash_are_not(self):
        path = self.put('f')
        for name in ('a\\b', 'a/b', '/', 'a/'):
            self.assert_status('OBJECT_NAME_INVALID', self.tree.open,
                               path + ':' + name, disposition=smb.OPEN_IF)

    def test_B25_type(self):
        path = self.put('f', b'main')
        for kind in ('$DATA', '$data', '$Data'):
            self.assertEqual(self.tree.get(path + '::' + kind), b'main')
        self.tree.put(path + ':s', b'stream')
        for kind in ('$DATA', '$data'):
            self.assertEqual(self.tree.get(path + ':s:' + kind), b'stream')

    def test_B25_unknown_type(self):
        path = self.put('f', b'main')
        for name in ('s:$FOO', ':$FOO', 's:x'):
            self.assert_status('OBJECT_NAME_INVALID', self.tree.open,
                               path + ':' + name, disposition=smb.OPEN_IF)

    def test_B25_too_many_colons(self):
        path = self.put('f', b'main')
        for name in ('s:$DATA:x', 's::$DATA', 's:$DATA:'):
            self.assert_status('OBJECT_NAME_INVALID', self.tree.open,
                               path + ':' + name, disposition=smb.OPEN_IF)

    def test_B25_empty_type(self):
        path = self.put('f', b'main')
        self.assert_status('OBJECT_NAME_INVALID', self.tree.open,
                           path + ':s:', disposition=smb.OPEN_IF)

    def test_B25_empty_name_and_type(self):
        path = self.put('f', b'main')
        for name in (':', '::'):
            self.assert_status('OBJECT_NAME_INVALID', self.tree.open,
                               path + name, disposition=smb.OPEN_IF)

    def test_B25_255_characters(self):
        path = self.put('f')
        name = 'n' * 200
        self.tree.put(path + ':' + name, b'x')
        self.assert_streams(path, {name: 1})

    def test_B25_full_255_characters(self):
        path = self.put('f')
        name = 'n' * 255
        self.tree.put(path + ':' + name, b'x')
        self.assert_streams(path, {name: 1})

    def test_B25_256_characters(self):
        path = self.put('f')
        self.assert_status('OBJECT_NAME_INVALID', self.tree.open,
                           path + ':' + 'n' * 256, disposition=smb.OPEN_IF)

    # B26: a file whose stream is open.

    def test_B26_stream_open_without_share_delete(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':s', b'stream')
        with self.tree.open(path + ':s', share=smb.SHARE_READ |
                            smb.SHARE_WRITE):
            self.assert_status('SHARING_VIOLATION', self.tree.remove, path)
        self.assertEqual(self.tree.get(path), b'main')

    def test_B26_delete_pending_through_a_stream(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':s', b'stream')
        with self.tree.open(path + ':s') as h:
            self.tree.remove(path)
            for name in (path, path + ':s', path + ':new'):
                self.assert_status('DELETE_PENDING', self.tree.open, name)
            self.assertEqual(h.read(6), b'stream')
        self.assertFalse(self.tree.exists(path))
        self.assertFalse(os.path.exists(self.local('f')))

    def test_B26_delete_on_close_after_the_dacl_closed(self):
        path = self.path('t')
        with self.tree.create(path, access=smb.ALL_ACCESS,
                              options=smb.DELETE_ON_CLOSE) as h:
            with self.tree.open(path + ':s',
                                disposition=smb.CREATE) as s:
                s.write(b'x')
            empty = stored.descriptor('D:P')
            h.set_security(empty)
        self.assertFalse(self.tree.exists(path))

    def test_B26_last_link_takes_a_big_stream_along(self):
        """Nothing of a deleted file's streams stays on the disk."""
        before = self.files()
        path = self.put('f', b'main')
        for i in range(20):
            self.tree.put('%s:big%d' % (path, i), pattern(100000))
        self.tree.remove(path)
        self.assertEqual(self.files() - before, set())

    def files(self):
        """All files of the share as they lie on this machine."""
        return {os.path.join(where, name) for where, _, names in
                os.walk(self.env.local(self.SHARE)) for name in names}


if __name__ == '__main__':
    smb_test.main()
