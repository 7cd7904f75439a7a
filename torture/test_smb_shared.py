#!/usr/bin/python3
# Several clients at once: what one has done, every other sees at once.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each connection has a smbd process of its own: nothing that one process
remembers about a file may hide what another, or a local program, did."""

import os
import random
import sys
import threading

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
import stored
from smb2_client import NTError, filetime


class Shared(smb_test.SmbTest):

    def setUp(self):
        smb_test.SmbTest.setUp(self)
        self.a = self.tree
        self.b = self.connect()

    def put(self, name, data=b'data'):
        path = self.path(name)
        self.a.put(path, data)
        return path

    def big(self, length=200000):
        return os.urandom(1000 if self.env.backend == 'stock' else length)

    def entry(self, tree, name):
        return [e for e in tree.list(self.dir) if e.name == name][0]

    # Metadata.

    def test_attributes_and_times_of_the_other(self):
        path = self.put('f')
        with self.a.open(path) as h:
            for i in range(20):
                attributes = (smb.HIDDEN, smb.SYSTEM, smb.READONLY,
                              smb.NORMAL)[i % 4]
                create = filetime(2001) + i * 12345677
                write = filetime(2005) + i * 23456789
                self.b.set_basic(path, create=create, write=write,
                                 attributes=attributes)
                for what, seen in (('by the open handle', h.basic()),
                                   ('by name', self.a.basic(path)),
                                   ('in a listing', self.entry(self.a, 'f'))):
                    self.assertEqual(seen.attributes, attributes,
                                     '%s, round %d' % (what, i))
                    self.assert_time(seen.create, create, what)
                    self.assert_time(seen.write, write, what)

    def test_attributes_of_a_local_program(self):
        """Such as ntvfs-xattr, or stock Samba on the same folder."""
        self.backend_is('stock', 'posix')
        path = self.put('f')
        other = self.put('other')
        self.a.set_basic(path, attributes=smb.HIDDEN, create=filetime(2001))
        self.a.set_basic(other, attributes=smb.SYSTEM,
                         create=filetime(2002))
        with self.a.open(path) as h:
            blobs = [os.getxattr(self.local(n), stored.DOSATTRIB)
                     for n in ('f', 'other')]
            for i in range(10):
                os.setxattr(self.local('f'), stored.DOSATTRIB,
                            blobs[i % 2])
                want = (smb.HIDDEN, smb.SYSTEM)[i % 2]
                self.assertEqual(h.basic().attributes, want)
                self.assertEqual(self.b.attributes(path), want)
                self.assertEqual(self.entry(self.a, 'f').attributes, want)

    def test_descriptor_of_the_other(self):
        path = self.put('f')
        with self.a.open(path, access=smb.READ_CONTROL) as h:
            me = stored.parse_descriptor(h.security()).owner_sid
            for i in range(10):
                rights = ('FR', 'FA')[i % 2]
                with self.b.open(path, access=smb.WRITE_DAC) as s:
                    s.set_security(stored.descriptor(
                        'D:P(A;;%s;;;%s)' % (rights, me)))
                mask = stored.parse_descriptor(
                    h.security()).dacl.aces[0].access_mask
                self.assertEqual(mask, (0x120089, 0x1f01ff)[i % 2])
                if rights == 'FR':
                    self.assert_status('ACCESS_DENIED', self.a.open, path,
                                       access=smb.FILE_WRITE_DATA)
                else:
                    self.a.open(path, access=smb.FILE_WRITE_DATA).close()

    def test_inheritable_descriptor_of_the_other(self):
        """A changed folder ACL is what the next new file inherits."""
        self.a.mkdir(self.path('d'))
        with self.a.open(self.path('d'), access=smb.READ_CONTROL) as h:
            me = stored.parse_descriptor(h.security()).owner_sid
        for i in range(10):
            who = 'S-1-5-21-1-2-3-%d' % (1000 + i)
            with self.b.open(self.path('d'), access=smb.WRITE_DAC) as h:
                h.set_security(stored.descriptor(
                    'D:P(A;OICI;FA;;;%s)(A;OICI;FR;;;%s)' % (me, who)))
            path = self.path('d', 'f%d' % i)
            self.a.put(path)
            with self.a.open(path, access=smb.READ_CONTROL) as h:
                trustees = [str(ace.trustee) for ace in
                            stored.parse_descriptor(h.security()).dacl.aces]
            self.assertIn(who, trustees)

    def test_eas_of_the_other(self):
        path = self.put('f')
        with self.a.open(path) as h:
            for i in range(10):
                value = b'v' * (i % 3)
                with self.b.open(path) as s:
                    s.set_eas([('FOO', value)])
                self.assertEqual(h.eas(), [('FOO', value)] if value else [])

    def test_streams_of_the_other(self):
        path = self.put('f')
        big = self.big()
        with self.a.open(path) as h:
            for i in range(10):
                data = b'small' if i % 2 else big
                self.b.put(path + ':s', data, disposition=smb.OVERWRITE_IF)
                self.assertEqual(h.streams()[':s:$DATA'], len(data))
                self.assertEqual(self.a.get(path + ':S'), data)
                self.b.remove(path + ':s')
                self.assertNotIn(':s:$DATA', h.streams())
                self.assert_status('OBJECT_NAME_NOT_FOUND', self.a.open,
                                   path + ':s')

    # A new file in the place of an old one: inode numbers come back.

    def recreate(self, make):
        for i in range(100):
            path = self.path('f')
            self.a.put(path, b'old')
            self.a.put(path + ':s', b'old stream', disposition=smb.OPEN_IF)
            self.a.set_basic(path, create=filetime(2001),
                             attributes=smb.HIDDEN)
            self.assertEqual(self.b.attributes(path), smb.HIDDEN)
            self.assertEqual(self.b.get(path + ':s'), b'old stream')
            make(path)
            for tree in self.a, self.b:
                basic = tree.basic(path)
                self.assertFalse(basic.attributes & smb.HIDDEN, i)
                self.assert_now(basic.create, 'creation time')
                with tree.open(path, access=smb.FILE_READ_ATTRIBUTES) as h:
                    self.assertEqual(list(h.streams()), ['::$DATA'])
                self.assert_status('OBJECT_NAME_NOT_FOUND', tree.open,
                                   path + ':s')
            self.a.remove(path)

    def test_recreated_by_the_other(self):
        def make(path):
            self.b.remove(path)
            self.b.put(path, b'new')
        self.recreate(make)

    def test_recreated_by_a_local_program(self):
        def make(path):
            os.unlink(self.local('f'))
            self.put_local('f', b'new')
        self.recreate(make)

    def test_replaced_by_a_local_program(self):
        def make(path):
            self.put_local('f.new', b'new')
            os.rename(self.local('f.new'), self.local('f'))
        self.recreate(make)

    # Names.

    def test_names_of_the_other(self):
        """Random creates, deletes, renames by three parties; after each,
        all see the same, whatever the case that they ask in."""
        seed = random.SystemRandom().randrange(1 << 31)
        rng = random.Random(seed)
        present = {}
        names = ['Alpha', 'Beta', 'Gamma', 'Delta', 'Epsilon', 'Zeta']
        for step in range(300):
            who = rng.choice((self.a, self.b, None))
            name = rng.choice(names)
            if name not in present:
                shown = rng.choice((name, name.upper(), name.lower()))
                if who is None:
                    self.put_local(shown, b'x')
                else:
                    who.put(self.path(shown), b'x', disposition=smb.CREATE)
                present[name] = shown
            elif rng.random() < 0.5:
                shown = present.pop(name)
                if who is None:
                    os.unlink(self.local(shown))
                else:
                    who.remove(self.path(rng.choice((shown,
                                                     shown.swapcase()))))
            else:
                shown = present.pop(name)
                free = [n for n in names if n not in present]
                new = rng.choice(free)
                if who is None:
                    os.rename(self.local(shown), self.local(new))
                else:
                    who.rename(self.path(shown), self.path(new))
                present[new] = new
            for tree in self.a, self.b:
                for candidate in names:
                    asked = rng.choice((candidate, candidate.upper(),
                                        candidate.swapcase()))
                    self.assertEqual(
                        tree.exists(self.path(asked)), candidate in present,
                        'step %d of seed %d: %s' % (step, seed, asked))
        self.assertEqual(sorted(self.a.names(self.dir)),
                         sorted(present.values()))

    def test_created_by_two_at_once(self):
        """Two creates of one name in different case: one wins."""
        for i in range(30):
            results = []

            def create(tree, name):
                try:
                    tree.create(self.path(name)).close()
                    results.append('created')
                except NTError as e:
                    results.append(smb.status_name(e.status))

            threads = [threading.Thread(target=create, args=(t, n))
                       for t, n in ((self.a, 'Name%d' % i),
                                    (self.b, 'NAME%d' % i))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len([n for n in self.a.names(self.dir)
                                  if n.lower() == 'name%d' % i]), 1,
                             'round %d: %s' % (i, results))

    def test_directory_removed_by_the_other(self):
        for i in range(20):
            self.a.mkdir(self.path('d'))
            self.a.put(self.path('d', 'f'), b'x')
            self.assertTrue(self.b.exists(self.path('D', 'F')))
            self.b.remove(self.path('d', 'f'))
            self.b.remove(self.path('d'))
            self.assertFalse(self.a.exists(self.path('d', 'f')))
            self.assertFalse(self.a.exists(self.path('d')))

    def test_directory_renamed_by_the_other(self):
        for i in range(20):
            self.a.mkdir(self.path('d'))
            self.a.put(self.path('d', 'f'), b'%d' % i)
            self.assertEqual(self.b.get(self.path('d', 'f')), b'%d' % i)
            self.b.rename(self.path('d'), self.path('e%d' % i))
            self.assertFalse(self.a.exists(self.path('d', 'f')))
            self.assertEqual(self.a.get(self.path('e%d' % i, 'F')),
                             b'%d' % i)

    # Streams that two write.

    def test_stream_outgrows_its_xattr_under_the_other(self):
        self.backend_is('posix', 'native')
        path = self.put('f')
        self.a.put(path + ':s', b'start')
        big = self.big()
        with self.a.open(path + ':s') as a, self.b.open(path + ':s') as b:
            self.assertEqual(a.read(5), b'start')
            b.write(big)
            self.assertEqual(a.end_of_file(), len(big))
            self.assertEqual(a.read_all(), big)
            a.write(b'by the first', 100000)
            self.assertEqual(b.read(12, 100000), b'by the first')
            b.set_end_of_file(3)
            self.assertEqual(a.read_all(), big[:3])
            a.write(b'xyz')
            self.assertEqual(b.read_all(), b'xyz')
            a.set_end_of_file(150000)
            self.assertEqual(b.end_of_file(), 150000)
            self.assertEqual(b.read_all(), b'xyz' + b'\0' * 149997)
        self.assertEqual(self.a.get(path + ':s'),
                         b'xyz' + b'\0' * 149997)

    def interleave(self, step, count):
        path = self.put('f')
        self.a.put(path + ':s', b'')
        with self.a.open(path + ':s') as a, self.b.open(path + ':s') as b:
            for i in range(count):
                (a, b)[i % 2].write(b'%c' % (65 + i % 26) * step, i * step)
        want = b''.join(b'%c' % (65 + i % 26) * step for i in range(count))
        for tree in self.a, self.b:
            self.assertEqual(tree.get(path + ':s'), want)

    def test_small_stream_written_in_turns(self):
        self.interleave(10, 100)

    def test_growing_stream_written_in_turns(self):
        self.backend_is('posix', 'native')
        self.interleave(1000, 100)

    def test_stream_written_at_the_same_time(self):
        """Two write different halves at once; no byte gets lost."""
        path = self.put('f')
        for total in (2000, 80000):
            if self.env.backend == 'stock':
                total = 800
            half = total // 2
            self.a.put(path + ':s', b'\0' * total)
            errors = []

            def work(tree, start, letter):
                try:
                    with tree.open(path + ':s') as h:
                        for offset in range(start, start + half, 40):
                            h.write(letter * 40, offset)
                except NTError as e:
                    errors.append(str(e))

            threads = [threading.Thread(target=work, args=args)
                       for args in ((self.a, 0, b'A'),
                                    (self.b, half, b'B'))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(errors, [])
            self.assertEqual(self.a.get(path + ':s'),
                             b'A' * half + b'B' * half)

    def test_two_streams_written_at_the_same_time(self):
        path = self.put('f')
        errors = []

        def work(tree, name):
            try:
                for i in range(60):
                    tree.put(path + name, b'%d' % i * 30,
                             disposition=smb.OVERWRITE_IF)
            except NTError as e:
                errors.append(str(e))

        threads = [threading.Thread(target=work, args=args)
                   for args in ((self.a, ':one'), (self.b, ':two'))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        for name in ':one', ':two':
            self.assertEqual(self.a.get(path + name), b'59' * 30)

    def test_attributes_set_at_the_same_time(self):
        """Attributes by one, creation time by the other: both stay."""
        path = self.put('f')
        rounds = 60

        def attributes():
            with self.a.open(path) as h:
                for i in range(rounds):
                    h.set_basic(attributes=(smb.HIDDEN, smb.SYSTEM)[i % 2])

        def create():
            with self.b.open(path) as h:
                for i in range(rounds):
                    h.set_basic(create=filetime(2001 + i % 2))

        threads = [threading.Thread(target=t) for t in (attributes, create)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        basic = self.a.basic(path)
        self.assertEqual(basic.attributes, smb.SYSTEM)
        self.assert_time(basic.create, filetime(2002), 'creation time')


if __name__ == '__main__':
    smb_test.main()
