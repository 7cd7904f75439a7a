#!/usr/bin/python3
# Data over SMB: sizes, sparse files, copies on the server, a full volume.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import sys

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
import stored
from smb2_client import NTError, STATUS

KIB, MIB = 1 << 10, 1 << 20
FULL_SHARE = 'small'
NO_VOLUME = None


def shares(env):
    """A volume of 48 MiB, small enough to fill it."""
    global NO_VOLUME
    NO_VOLUME = env.mount_image(FULL_SHARE, ['mkfs.ext4', '-q', '-F',
                                             '-m', '0', '-b', '4096',
                                             '-O', '^has_journal'], 48)
    return [] if NO_VOLUME else [env.share(FULL_SHARE)]


def block(i):
    return (b'%07d\n' % i) * (MIB // 8)


class Data(smb_test.SmbTest):

    def put(self, name, data=b''):
        path = self.path(name)
        self.tree.put(path, data)
        return path

    # Reads and writes.

    def test_write_at_offsets(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.write(b'end', 1000000)
            h.write(b'start', 0)
            self.assertEqual(h.read(5), b'start')
            self.assertEqual(h.read(3, 1000000), b'end')
            self.assertEqual(h.read(4, 500000), b'\0' * 4)
            self.assertEqual(h.end_of_file(), 1000003)

    def test_read_beyond_the_end(self):
        path = self.put('f', b'data')
        with self.tree.open(path) as h:
            self.assertEqual(h.read(100, 2), b'ta')
            self.assert_status('END_OF_FILE', h.read, 10, 4)
            self.assert_status('END_OF_FILE', h.read, 10, 1 << 40)

    def test_large_write_and_read(self):
        data = os.urandom(3 * MIB)
        path = self.put('f')
        with self.tree.open(path) as h:
            for start in range(0, len(data), MIB):
                h.write_once(data[start:start + MIB], start)
            got = b''.join(h.read(MIB, start)
                           for start in range(0, len(data), MIB))
        self.assertEqual(got, data)

    def test_second_handle_sees_writes_at_once(self):
        path = self.put('f')
        with self.tree.open(path) as a, self.tree.open(path) as b:
            for i in range(100):
                a.write(b'%04d' % i)
                self.assertEqual(b.read(4), b'%04d' % i)

    def test_other_connection_sees_writes_at_once(self):
        path = self.put('f')
        other = self.connect()
        with self.tree.open(path) as a, other.open(path) as b:
            for i in range(100):
                a.write(b'%04d' % i)
                self.assertEqual(b.read(4), b'%04d' % i)

    def test_end_of_file_shrinks_and_grows(self):
        path = self.put('f', b'x' * 100)
        with self.tree.open(path) as h:
            h.set_end_of_file(10)
            h.set_end_of_file(50)
            self.assertEqual(h.read_all(), b'x' * 10 + b'\0' * 40)

    def test_allocation_below_the_size_truncates(self):
        path = self.put('f', b'x' * 100000)
        with self.tree.open(path) as h:
            h.set_allocation(0)
            self.assertEqual(h.end_of_file(), 0)

    def test_allocation_above_the_size_leaves_it(self):
        path = self.put('f', b'x' * 100)
        with self.tree.open(path) as h:
            h.set_allocation(MIB)
            self.assertEqual(h.end_of_file(), 100)

    def test_allocation_above_the_size_is_reserved(self):
        path = self.put('f', b'x' * 100)
        with self.tree.open(path) as h:
            h.set_allocation(MIB)
            self.assertGreaterEqual(h.standard()[0], MIB)

    def test_negative_sizes_are_refused(self):
        path = self.put('f', b'x')
        with self.tree.open(path) as h:
            self.assert_status('INVALID_PARAMETER', h.set_end_of_file, -1)
            self.assertEqual(h.end_of_file(), 1)

    def test_flush(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.write(b'data')
            h.flush()
        self.assertEqual(self.tree.get(path), b'data')

    # B49: zero-data and allocated ranges.

    def test_B49_zero_data_on_a_file_that_is_not_sparse(self):
        path = self.put('f', b'x' * MIB)
        with self.tree.open(path) as h:
            h.zero_data(256 * KIB, 512 * KIB)
            self.assertEqual(h.end_of_file(), MIB)
            self.assertEqual(h.allocated_ranges(0, MIB), [(0, MIB)])
            self.assertEqual(h.read(10, 300 * KIB), b'\0' * 10)
            self.assertEqual(h.read(10, 256 * KIB - 10), b'x' * 10)

    def test_B49_zero_data_on_a_sparse_file(self):
        path = self.put('f', b'x' * MIB)
        with self.tree.open(path) as h:
            h.set_sparse()
            h.zero_data(256 * KIB, 512 * KIB)
            self.assertEqual(h.allocated_ranges(0, MIB),
                             [(0, 256 * KIB), (512 * KIB, 512 * KIB)])
            self.assertEqual(h.end_of_file(), MIB)
            self.assertEqual(h.read(10, 300 * KIB), b'\0' * 10)
            self.assertEqual(h.read(10, 512 * KIB), b'x' * 10)

    def test_B49_zero_data_not_on_block_borders(self):
        path = self.put('f', b'x' * 100000)
        with self.tree.open(path) as h:
            h.set_sparse()
            h.zero_data(10001, 89999)
            self.assertEqual(
                h.read_all(),
                b'x' * 10001 + b'\0' * 79998 + b'x' * 10001)

    def test_B49_zero_data_beyond_the_end(self):
        path = self.put('f', b'x' * 1000)
        with self.tree.open(path) as h:
            h.set_sparse()
            h.zero_data(500, 100000)
            self.assertEqual(h.end_of_file(), 1000)
            self.assertEqual(h.read_all(), b'x' * 500 + b'\0' * 500)

    def test_B49_ranges_beyond_the_data(self):
        path = self.put('f', b'x' * 1000)
        with self.tree.open(path) as h:
            self.assertEqual(h.allocated_ranges(MIB, MIB), [])

    def test_B49_overflow_is_refused(self):
        path = self.put('f', b'x' * 1000)
        with self.tree.open(path) as h:
            h.set_sparse()
            self.assert_status('INVALID_PARAMETER', h.allocated_ranges,
                               512, -1)
            self.assert_status('INVALID_PARAMETER', h.zero_data, 10, 5)

    def test_B49_signed_overflow_is_refused(self):
        path = self.put('f', b'x' * 1000)
        with self.tree.open(path) as h:
            self.assert_status('INVALID_PARAMETER', h.allocated_ranges,
                               (1 << 63) - 1, 2)

    def test_B49_sparse_on_a_directory_is_refused(self):
        self.tree.mkdir(self.path('d'))
        with self.tree.open(self.path('d')) as h:
            self.assert_status('INVALID_PARAMETER', h.set_sparse)

    def test_B49_small_buffer_gives_what_fits(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.set_sparse()
            for i in range(4):
                h.write(b'x' * 65536, i * MIB)
            status, ranges = h.allocated_ranges(
                0, 4 * MIB, 32, accept=(0, STATUS['BUFFER_OVERFLOW']))
            self.assertEqual(status, STATUS['BUFFER_OVERFLOW'])
            self.assertEqual(ranges, [(0, 65536), (MIB, 65536)])

    def test_B49_sparse_attribute_is_shown_and_lasts(self):
        path = self.put('f', b'x')
        with self.tree.open(path) as h:
            h.set_sparse()
            self.assertTrue(h.basic().attributes & smb.SPARSE)
        self.tree.set_basic(path, attributes=smb.HIDDEN)
        self.assertEqual(self.tree.attributes(path),
                         smb.HIDDEN | smb.SPARSE)
        self.tree.rename(path, self.path('g'))
        self.assertTrue(self.tree.attributes(self.path('g')) & smb.SPARSE)
        with self.tree.open(self.path('g')) as h:
            h.set_sparse(False)
            self.assertFalse(h.basic().attributes & smb.SPARSE)

    # B51: copies on the server.

    def test_B51_copy_moves_bytes_only(self):
        data = os.urandom(8192)
        source = self.put('src', data)
        self.tree.put(source + ':s', b'stream')
        self.tree.set_basic(source, attributes=smb.HIDDEN,
                            create=smb.filetime(2001),
                            write=smb.filetime(2002))
        target = self.put('dst')
        with self.tree.open(source) as s, self.tree.open(target) as t:
            status, chunks, _, total = t.copy_chunks(
                s.resume_key(), [(0, 4096, 8192)])
            self.assertEqual((status, chunks, total), (0, 1, 8192))
        with self.tree.open(target) as t:
            self.assertEqual(t.end_of_file(), 12288)
            self.assertEqual(t.read_all(), b'\0' * 4096 + data)
            self.assertEqual(list(t.streams()), ['::$DATA'])
            basic = t.basic()
        self.assertEqual(basic.attributes, smb.ARCHIVE)
        self.assert_now(basic.write, 'write time')
        self.assert_now(basic.create, 'creation time')
        self.assert_time(self.tree.basic(source).write, smb.filetime(2002),
                         'write time of the source')

    def test_B51_source_range_past_the_end(self):
        source = self.put('src', os.urandom(8192))
        target = self.put('dst')
        with self.tree.open(source) as s, self.tree.open(target) as t:
            error = self.assert_status('INVALID_VIEW_SIZE', t.copy_chunks,
                                       s.resume_key(), [(8000, 0, 4096)])
            self.assertIsNotNone(error)

    def test_B51_between_streams(self):
        path = self.put('f', b'main')
        self.tree.put(path + ':a', b'a' * 1000)
        self.tree.put(path + ':b', b'')
        with self.tree.open(path + ':a') as a, \
                self.tree.open(path + ':b') as b:
            b.copy_chunks(a.resume_key(), [(0, 0, 1000)])
        self.assertEqual(self.tree.get(path + ':b'), b'a' * 1000)
        self.assertEqual(self.tree.get(path), b'main')

    def test_B51_within_one_file(self):
        data = os.urandom(4096)
        path = self.put('f', data)
        with self.tree.open(path) as h:
            h.copy_chunks(h.resume_key(), [(0, 8192, 4096)])
        self.assertEqual(self.tree.get(path), data + b'\0' * 4096 + data)

    def test_B51_big_copy(self):
        data = os.urandom(5 * MIB)
        source = self.put('src')
        with self.tree.open(source) as s:
            for start in range(0, len(data), MIB):
                s.write_once(data[start:start + MIB], start)
        target = self.put('dst')
        with self.tree.open(source) as s, self.tree.open(target) as t:
            t.copy_chunks(s.resume_key(),
                          [(i * MIB, i * MIB, MIB) for i in range(5)])
        with open(self.local('dst'), 'rb') as f:
            self.assertEqual(f.read(), data)


class Full(smb_test.SmbTest):
    """B54: a volume that fills up."""

    SHARE = FULL_SHARE

    def setUp(self):
        self.require(NO_VOLUME)
        smb_test.SmbTest.setUp(self)

    def fill(self):
        """Files of 1 MiB until the volume is full; their number."""
        count = 0
        while True:
            path = self.path('file%d' % count)
            try:
                with self.tree.create(path) as h:
                    self.assertEqual(h.write_once(block(count)), MIB)
            except NTError as e:
                self.assertEqual(smb.status_name(e.status), 'DISK_FULL')
                return count
            count += 1
            self.assertLess(count, 60)

    def fill_the_rest(self):
        """Down to the last block."""
        try:
            with self.tree.open(self.path('rest'),
                                disposition=smb.OPEN_IF) as h:
                offset = h.end_of_file()
                while True:
                    h.write_once(b'r' * 4096, offset)
                    offset += 4096
        except NTError as e:
            self.assertEqual(smb.status_name(e.status), 'DISK_FULL')

    def verify(self, count):
        for i in range(count):
            with open(self.local('file%d' % i), 'rb') as f:
                self.assertEqual(f.read(), block(i), i)

    def test_B54_gap_that_never_fits(self):
        """The volume has 48 MiB; a sparse file takes none for its holes."""
        with self.tree.create(self.path('f')) as h:
            h.write(b'abc')
            self.assert_status('DISK_FULL', h.write_once, b'x', 64 * MIB)
            self.assertEqual(h.end_of_file(), 3)
            h.set_sparse()
            h.write_once(b'x', 64 * MIB)
            self.assertEqual(h.end_of_file(), 64 * MIB + 1)

    def test_B54_acknowledged_data_stays(self):
        count = self.fill()
        self.assertGreater(count, 20)
        self.verify(count)

    def test_B54_delete_works_and_frees(self):
        count = self.fill()
        self.fill_the_rest()
        self.tree.remove(self.path('file0'))
        with self.tree.create(self.path('again')) as h:
            h.write_once(b'x' * (MIB // 2))
        for i in range(1, count):
            self.tree.remove(self.path('file%d' % i))

    def or_full(self, call, *arguments, **keywords):
        """True when done; False when refused with DISK_FULL."""
        try:
            call(*arguments, **keywords)
        except NTError as e:
            self.assertEqual(smb.status_name(e.status), 'DISK_FULL')
            return False
        return True

    def test_B54_attributes_are_set_or_kept(self):
        self.fill()
        self.fill_the_rest()
        path = self.path('file1')
        before = self.tree.basic(path)
        if self.or_full(self.tree.set_basic, path, attributes=smb.HIDDEN,
                        create=smb.filetime(2001)):
            basic = self.tree.basic(path)
            self.assertEqual(basic.attributes, smb.HIDDEN)
            self.assert_time(basic.create, smb.filetime(2001))
        else:
            self.assertEqual(self.tree.basic(path).attributes,
                             before.attributes)

    def test_B54_descriptor_is_set_or_kept(self):
        self.fill()
        self.fill_the_rest()
        with self.tree.open(self.path('file1'), access=smb.ALL_ACCESS) as h:
            before = h.security()
            done = self.or_full(h.set_security, stored.descriptor(
                'D:P(A;;FA;;;WD)' + ''.join(
                    '(A;;FR;;;S-1-5-21-1-2-3-%d)' % i for i in range(30))))
            after = h.security()
            if done:
                self.assertEqual(len(stored.parse_descriptor(
                    after).dacl.aces), 31)
            else:
                self.assertEqual(after, before)

    def test_B54_streams_are_kept(self):
        path = self.path('f')
        self.tree.put(path, b'main')
        self.tree.put(path + ':s', b'old stream')
        self.fill()
        self.fill_the_rest()
        with self.tree.open(path + ':s') as h:
            self.assert_status(('DISK_FULL', 'FILE_SYSTEM_LIMITATION'),
                               h.write, b'N' * (2 * MIB))
        got = self.tree.get(path + ':s')
        self.assertTrue(got.startswith(b'old stream') or
                        got.startswith(b'N'), got[:20])
        self.tree.remove(path)
        self.assertFalse(self.tree.exists(path))

    def test_B54_overwritten_stream_is_old_or_new(self):
        path = self.path('f')
        self.tree.put(path, b'main')
        old = b'o' * 2000
        self.tree.put(path + ':s', old)
        self.fill()
        self.fill_the_rest()
        new = b'n' * 3000
        with self.tree.open(path + ':s') as h:
            if self.or_full(h.write, new):
                self.assertEqual(h.read_all(), new)
            else:
                self.assertEqual(h.read_all(), old)

    def test_B54_allocation_that_cannot_be(self):
        self.fill()
        self.fill_the_rest()
        with self.tree.open(self.path('file1')) as h:
            self.assert_status('DISK_FULL', h.set_allocation, 100 * MIB)
            self.assertEqual(h.end_of_file(), MIB)
        self.verify(2)

    def test_B54_new_file_at_the_last_block(self):
        """A create without room fails or makes a whole file, never half."""
        self.fill()
        self.fill_the_rest()
        for i in range(300):
            path = self.path('n%d' % i)
            if not self.or_full(self.tree.put, path, b'',
                                attributes=smb.HIDDEN):
                if self.tree.exists(path):
                    self.tree.attributes(path)
                break
        self.verify(2)


if __name__ == '__main__':
    smb_test.main()
