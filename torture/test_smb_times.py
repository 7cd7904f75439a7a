#!/usr/bin/python3
# The four times over SMB: independent, exact, lasting, moved rightly.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import sys
import time

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
import stored
from smb2_client import filetime

T_2001 = filetime(2001)
T_2010 = filetime(2010, 1, 1)
T_2021 = filetime(2021, 5, 5)

# Four different times with digits down to 100 ns.
FOUR = (filetime(2003, 3, 3, 3, 3, 3, 3333333),
        filetime(2004, 4, 4, 4, 4, 4, 4444444),
        filetime(2005, 5, 5, 5, 5, 5, 5555555),
        filetime(2006, 6, 6, 6, 6, 6, 6666666))


class Times(smb_test.SmbTest):

    def put(self, name, data=b'abc'):
        path = self.path(name)
        self.tree.put(path, data)
        return path

    def set_times(self, path, create=0, access=0, write=0, change=0,
                  attributes=0):
        self.tree.set_basic(path, create=create, access=access, write=write,
                            change=change, attributes=attributes)

    def assert_three(self, basic, want, what):
        """Creation, access and write time; the change time has tests of
        its own because smbd before 4.23 does not show it."""
        names = ('creation time', 'access time', 'write time')
        for name, got, expected in zip(names, basic.times(), want):
            self.assert_time(got, expected, '%s %s' % (name, what))

    def stored_change(self, *names):
        """The change time as it lies on the disk; None: not stored."""
        return stored.dosattrib(self.local(*names)).change

    # B02: four independent values, no order among them.

    def test_B02_old_write_time_leaves_creation_time(self):
        path = self.put('b')
        self.set_times(path, create=T_2021)
        self.set_times(path, write=filetime(1980))
        basic = self.tree.basic(path)
        self.assert_time(basic.create, T_2021, 'creation time')
        self.assert_time(basic.write, filetime(1980), 'write time')
        self.set_times(path, create=filetime(2030))
        basic = self.tree.basic(path)
        self.assert_time(basic.create, filetime(2030), 'creation time')
        self.assert_time(basic.write, filetime(1980), 'write time')

    def test_B02_old_access_time_leaves_the_others(self):
        path = self.put('b')
        self.set_times(path, *FOUR)
        self.set_times(path, access=filetime(1985))
        self.assert_three(self.tree.basic(path),
                          (FOUR[0], filetime(1985), FOUR[2]), 'after a set')

    def test_B02_on_a_directory(self):
        path = self.path('d')
        self.tree.mkdir(path)
        self.set_times(path, create=T_2021)
        self.set_times(path, write=filetime(1980))
        basic = self.tree.basic(path)
        self.assert_time(basic.create, T_2021, 'creation time')
        self.assert_time(basic.write, filetime(1980), 'write time')

    def test_four_times_to_100_ns(self):
        path = self.put('f')
        self.set_times(path, *FOUR)
        self.assert_three(self.tree.basic(path), FOUR, 'by handle')
        entry = [e for e in self.tree.list(self.dir) if e.name == 'f'][0]
        self.assert_three(entry, FOUR, 'in the listing')
        with self.tree.open(path) as h:
            self.assert_three(h.at_open, FOUR, 'in the answer to create')

    def test_change_time_is_shown(self):
        path = self.put('f')
        self.set_times(path, *FOUR)
        self.assert_time(self.tree.basic(path).change, FOUR[3],
                         'change time')

    def test_change_time_is_stored(self):
        self.backend_is('posix')
        path = self.put('f')
        self.set_times(path, *FOUR)
        self.assert_time(self.stored_change('f') or 0, FOUR[3],
                         'stored change time')

    def test_times_at_creation(self):
        with self.tree.create(self.path('new')) as h:
            for what, value in zip('create access write change'.split(),
                                   h.at_open.times()):
                self.assert_now(value, what + ' time')
            self.assertEqual(h.at_open.create, h.at_open.write,
                             'a new file has one time')

    # Lasting.

    def test_times_survive_rename(self):
        path = self.put('f')
        self.set_times(path, *FOUR)
        self.tree.rename(path, self.path('g'))
        self.assert_three(self.tree.basic(self.path('g')), FOUR,
                          'after a rename')

    def test_times_of_a_directory_survive_rename(self):
        self.tree.mkdir(self.path('d'))
        self.set_times(self.path('d'), *FOUR)
        self.tree.rename(self.path('d'), self.path('e'))
        self.assert_three(self.tree.basic(self.path('e')), FOUR,
                          'after a rename')

    def test_times_survive_restart_of_smbd(self):
        path = self.put('f')
        self.tree.mkdir(self.path('d'))
        self.set_times(path, *FOUR, attributes=smb.HIDDEN)
        self.set_times(self.path('d'), *FOUR)
        self.env.smbd.restart()
        self.tree = self.connect()
        basic = self.tree.basic(path)
        self.assert_three(basic, FOUR, 'after a restart')
        self.assertEqual(basic.attributes, smb.HIDDEN)
        self.assert_three(self.tree.basic(self.path('d')), FOUR,
                          'of the directory after a restart')

    def test_times_survive_open_and_close(self):
        path = self.put('f')
        self.set_times(path, *FOUR)
        for _ in range(3):
            with self.tree.open(path, access=smb.FILE_READ_DATA |
                                smb.FILE_WRITE_DATA |
                                smb.FILE_READ_ATTRIBUTES) as h:
                h.basic()
        self.assert_three(self.tree.basic(path), FOUR, 'after opens')

    def test_set_through_writing_handle_survives_its_close(self):
        path = self.path('f')
        with self.tree.create(path) as h:
            h.write(b'data')
            h.set_basic(*FOUR)
        self.assert_three(self.tree.basic(path), FOUR, 'after close')

    # B03: the value 0 and the extremes.

    def test_B03_zero_leaves_alone(self):
        path = self.put('f')
        self.set_times(path, *FOUR)
        self.set_times(path, 0, 0, 0, 0)
        self.assert_three(self.tree.basic(path), FOUR, 'after zeros')

    def extreme(self, value):
        path = self.put('f')
        self.set_times(path, value, value, value, value)
        self.assert_three(self.tree.basic(path), (value,) * 3,
                          'of FILETIME %d' % value)

    def test_B03_filetime_1(self):
        self.extreme(1)

    def test_B03_before_1901(self):
        self.extreme(filetime(1899, 12, 30, 1, 2, 3, 4))

    def test_B03_before_1970(self):
        self.extreme(filetime(1960, 2, 29, 1, 2, 3, 1234567))

    def test_B03_unix_epoch(self):
        self.extreme(smb.FT_UNIX_EPOCH)

    def test_B03_last_before_the_epoch(self):
        self.extreme(smb.FT_UNIX_EPOCH - 1)

    def test_B03_end_of_year_9999(self):
        self.extreme(2650467743999999999)

    def test_B03_creation_time_takes_extremes(self):
        path = self.put('f')
        for value in (1, 2650467743999999999, smb.FT_UNIX_EPOCH,
                      smb.FT_UNIX_EPOCH - 1):
            self.set_times(path, create=value)
            self.assert_time(self.tree.basic(path).create, value,
                             'creation time')

    def test_B03_minus_3_is_refused(self):
        path = self.put('f')
        self.set_times(path, *FOUR)
        for field in ('create', 'access', 'write', 'change'):
            for value in (-3, -(1 << 63)):
                self.assert_status('INVALID_PARAMETER', self.set_times, path,
                                   **{field: value})
        self.assert_three(self.tree.basic(path), FOUR, 'after a refusal')

    # B05: a far date must not spoil a directory. A store whose inodes
    # cannot hold it may refuse it, but never turn it into another.

    def set_far(self, path, value):
        """False when it was refused."""
        before = self.tree.basic(path).write
        try:
            self.set_times(path, write=value)
        except smb.NTError as e:
            self.assertEqual(smb.status_name(e.status), 'INVALID_PARAMETER')
            self.assert_time(self.tree.basic(path).write, before,
                             'write time after a refusal')
            return False
        return True

    def far(self, value):
        for name in 'abc':
            self.put(name)
        if not self.set_far(self.path('b'), value):
            value = self.tree.basic(self.path('b')).write
        entries = {e.name: e for e in self.tree.list(self.dir)}
        self.assertEqual(sorted(entries), ['.', '..', 'a', 'b', 'c'])
        self.assert_time(entries['b'].write, value, 'write time')
        self.assert_time(self.tree.basic(self.path('b')).write, value,
                         'write time by handle')

    def test_B05_year_2038(self):
        self.far(filetime(2038, 1, 19, 3, 14, 8))

    def test_B05_year_2105(self):
        self.far(159046848000000000)

    def test_B05_year_2446(self):
        self.far(filetime(2446, 5, 11))

    def test_B05_far_time_then_write_moves_it(self):
        path = self.put('f')
        self.set_far(path, filetime(2446, 5, 10))
        with self.tree.open(path) as h:
            h.write(b'more', 100)
        self.assert_now(self.tree.basic(path).write, 'write time')

    # B07: -1 and -2 are commands.

    def test_B07_minus_1_and_2_store_nothing(self):
        path = self.put('f')
        self.set_times(path, *FOUR)
        for value in (-1, -2):
            self.set_times(path, create=value)
            self.assert_time(self.tree.basic(path).create, FOUR[0],
                             'creation time after %d' % value)
            self.set_times(path, access=value)
            self.set_times(path, write=value)
            self.set_times(path, change=value)
            self.assert_three(self.tree.basic(path), FOUR,
                              'after %d' % value)

    def test_B07_frozen_write_time_stays(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.set_basic(write=T_2010)
            h.set_basic(write=-1)
            h.write(b'more', 10)
            self.assert_time(h.basic().write, T_2010, 'write time')
        self.assert_time(self.tree.basic(path).write, T_2010,
                         'write time after close')

    def test_B07_thawed_write_time_moves(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.set_basic(write=T_2010)
            h.set_basic(write=-1)
            h.write(b'more', 10)
            h.set_basic(write=-2)
            h.write(b'more', 20)
        self.assert_now(self.tree.basic(path).write,
                        'write time after a thaw')

    def test_B07_set_write_time_stays_through_later_writes(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.set_basic(write=T_2010)
            h.write(b'more', 10)
        self.assert_time(self.tree.basic(path).write, T_2010, 'write time')

    def test_B07_set_write_time_stays_through_delayed_update(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.write(b'x')
            h.set_basic(write=T_2010)
            h.write(b'more', 10)
            time.sleep(3)
            self.assert_time(h.basic().write, T_2010, 'write time')
        self.assert_time(self.tree.basic(path).write, T_2010,
                         'write time after close')

    def test_B07_frozen_access_time_stays(self):
        path = self.put('f', b'x' * 5000)
        self.set_times(path, *FOUR)
        with self.tree.open(path) as h:
            h.set_basic(access=-1)
            h.read_all()
        self.assert_time(self.tree.basic(path).access, FOUR[1],
                         'access time')

    def test_B07_frozen_change_time_stays(self):
        path = self.put('f')
        sd = None
        with self.tree.open(path, access=smb.ALL_ACCESS) as h:
            sd = h.security()
            h.set_basic(change=filetime(2021, 2, 3))
            h.set_basic(change=-1)
            h.write(b'more', 10)
            h.set_eas([('FOO', b'bar')])
            h.set_security(sd)
            h.set_sparse()
            self.assert_time(h.basic().change, filetime(2021, 2, 3),
                             'change time')
            h.set_basic(change=-2)
            h.write(b'more', 20)
        self.assert_now(self.tree.basic(path).change, 'change time')

    # B08 and its kind: which act moves which time.

    def assert_only_change_moves(self, path, what):
        self.assert_three(self.tree.basic(path), FOUR, 'after ' + what)

    def acted(self, act, what):
        path = self.put('f')
        self.set_times(path, *FOUR)
        act(path)
        self.assert_only_change_moves(path, what)
        return path

    def test_B08_attributes_leave_the_write_time(self):
        path = self.acted(lambda p: self.set_times(p, attributes=smb.HIDDEN),
                          'setting attributes')
        self.assertEqual(self.tree.attributes(path), smb.HIDDEN)

    def test_B08_attributes_move_the_change_time(self):
        self.acted(lambda p: self.set_times(p, attributes=smb.HIDDEN),
                   'setting attributes')
        self.assert_now(self.tree.basic(self.path('f')).change,
                        'change time')

    def test_B08_attributes_move_the_stored_change_time(self):
        self.backend_is('posix')
        self.acted(lambda p: self.set_times(p, attributes=smb.HIDDEN),
                   'setting attributes')
        change = self.stored_change('f')
        if change is not None:
            self.assert_now(change, 'stored change time')

    def test_security_leaves_the_other_times(self):
        def act(path):
            with self.tree.open(path, access=smb.ALL_ACCESS) as h:
                h.set_security(h.security())
        self.acted(act, 'setting a security descriptor')

    def test_eas_leave_the_other_times(self):
        def act(path):
            with self.tree.open(path) as h:
                h.set_eas([('FOO', b'bar')])
        self.acted(act, 'setting an EA')

    def test_read_leaves_the_write_time(self):
        path = self.put('f', b'x' * 5000)
        self.set_times(path, *FOUR)
        self.assertEqual(self.tree.get(path), b'x' * 5000)
        basic = self.tree.basic(path)
        self.assert_time(basic.create, FOUR[0], 'creation time')
        self.assert_time(basic.write, FOUR[2], 'write time')

    def test_write_moves_the_write_time_only(self):
        path = self.put('f')
        self.set_times(path, *FOUR)
        with self.tree.open(path) as h:
            h.write(b'more', 10)
        basic = self.tree.basic(path)
        self.assert_time(basic.create, FOUR[0], 'creation time')
        self.assert_now(basic.write, 'write time')

    def test_truncate_moves_the_write_time(self):
        path = self.put('f')
        self.set_times(path, *FOUR)
        with self.tree.open(path) as h:
            h.set_end_of_file(1)
        basic = self.tree.basic(path)
        self.assert_time(basic.create, FOUR[0], 'creation time')
        self.assert_now(basic.write, 'write time')

    def test_overwrite_keeps_the_creation_time(self):
        path = self.put('f')
        self.set_times(path, *FOUR)
        self.tree.put(path, b'new', disposition=smb.OVERWRITE)
        basic = self.tree.basic(path)
        self.assert_time(basic.create, FOUR[0], 'creation time')
        self.assert_now(basic.write, 'write time')

    def test_new_entry_moves_the_directory_write_time(self):
        path = self.path('d')
        self.tree.mkdir(path)
        self.set_times(path, *FOUR)
        self.tree.put(path + '\\f', b'x')
        basic = self.tree.basic(path)
        self.assert_time(basic.create, FOUR[0], 'creation time')
        self.assert_now(basic.write, 'write time')

    def test_hard_links_share_their_times(self):
        path = self.put('f')
        with self.tree.open(path) as h:
            h.link(self.path('g'))
        self.set_times(self.path('g'), *FOUR)
        self.assert_three(self.tree.basic(path), FOUR, 'by the other name')

    def test_stream_shows_the_times_of_its_file(self):
        path = self.put('f')
        self.tree.put(path + ':s', b'stream')
        self.set_times(path, *FOUR)
        self.assert_three(self.tree.basic(path + ':s'), FOUR,
                          'by the stream')

    def test_set_times_through_a_stream(self):
        path = self.put('f')
        self.tree.put(path + ':s', b'stream')
        self.set_times(path + ':s', *FOUR)
        self.assert_three(self.tree.basic(path), FOUR, 'of the file')

    # B10: no name tunnelling; docs/limits.md says so.

    def test_B10_no_tunnelling(self):
        path = self.put('x')
        self.set_times(path, create=T_2001)
        self.tree.remove(path)
        self.put('x')
        self.assert_now(self.tree.basic(path).create, 'creation time')

    def test_B10_no_tunnelling_after_rename_away(self):
        path = self.put('x')
        self.set_times(path, create=T_2001)
        self.tree.rename(path, self.path('y'))
        self.put('x')
        self.assert_now(self.tree.basic(path).create, 'creation time')

    # B17: one request sets all it names.

    def test_B17_time_and_attributes_in_one_request(self):
        path = self.put('f')
        self.set_times(path, write=T_2010, attributes=smb.HIDDEN)
        basic = self.tree.basic(path)
        self.assert_time(basic.write, T_2010, 'write time')
        self.assertEqual(basic.attributes, smb.HIDDEN)

    def test_B17_all_five_fields_in_one_request(self):
        path = self.put('f')
        self.set_times(path, *FOUR, attributes=smb.HIDDEN | smb.SYSTEM)
        basic = self.tree.basic(path)
        self.assert_three(basic, FOUR, 'set together')
        self.assertEqual(basic.attributes, smb.HIDDEN | smb.SYSTEM)

    def test_B17_on_a_directory(self):
        path = self.path('d')
        self.tree.mkdir(path)
        self.set_times(path, *FOUR, attributes=smb.HIDDEN)
        basic = self.tree.basic(path)
        self.assert_three(basic, FOUR, 'set together')
        self.assertEqual(basic.attributes, smb.HIDDEN | smb.DIRECTORY)

    def test_B17_readonly_and_times_in_one_request(self):
        path = self.put('f')
        self.set_times(path, *FOUR, attributes=smb.READONLY)
        basic = self.tree.basic(path)
        self.assert_three(basic, FOUR, 'set together')
        self.assertEqual(basic.attributes, smb.READONLY)

    def test_times_of_a_read_only_file_can_be_set(self):
        path = self.put('f')
        self.set_times(path, attributes=smb.READONLY)
        self.set_times(path, *FOUR)
        self.assert_three(self.tree.basic(path), FOUR, 'of a read-only file')


if __name__ == '__main__':
    smb_test.main()
