#!/usr/bin/python3
# Security descriptors over SMB: stored exactly, inherited, enforced.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import sys

sys.dont_write_bytecode = True
import smb2_client as smb
import smb_test
import stored
from smb2_client import DACL, GROUP, NTError, OWNER

# Control bits, [MS-DTYP] 2.4.6
DACL_PRESENT = 0x4
AUTO_INHERIT_REQ = 0x100
AUTO_INHERITED = 0x400
PROTECTED = 0x1000

# Flags of an ACE, [MS-DTYP] 2.4.4.1
OI, CI, NP, IO, INHERITED = 0x1, 0x2, 0x4, 0x8, 0x10

EVERYONE = 'S-1-1-0'
CREATOR_OWNER = 'S-1-3-0'
FULL = smb.ALL_ACCESS


def aces(raw):
    """[(sid, type, flags, mask)] of a descriptor's DACL."""
    dacl = stored.parse_descriptor(raw).dacl
    if dacl is None:
        return None
    return [(str(a.trustee), a.type, a.flags, a.access_mask)
            for a in dacl.aces]


class Security(smb_test.SmbTest):

    def put(self, name, data=b'data'):
        path = self.path(name)
        self.tree.put(path, data)
        return path

    def get(self, path, flags=OWNER | GROUP | DACL):
        with self.tree.open(path, access=smb.READ_CONTROL) as h:
            return h.security(flags)

    def set(self, path, sddl, flags=DACL, tree=None):
        with (tree or self.tree).open(path, access=smb.WRITE_DAC) as h:
            h.set_security(stored.descriptor(sddl), flags)

    def owner(self):
        """Our own SID, as the owner of a new file."""
        path = self.path('whose')
        self.tree.put(path)
        return str(stored.parse_descriptor(self.get(path)).owner_sid)

    def control(self, raw):
        return stored.parse_descriptor(raw).type

    def assert_dacl(self, path, want):
        self.assertEqual(aces(self.get(path)), want, path)

    # Stored exactly.

    def test_dacl_reads_back(self):
        path = self.put('f')
        me = self.owner()
        self.set(path, 'D:P(A;;FA;;;%s)(A;;FR;;;WD)(D;;WD;;;BG)' % me)
        self.assert_dacl(path, [(me, 0, 0, 0x1f01ff),
                                (EVERYONE, 0, 0, 0x120089),
                                ('S-1-5-32-546', 1, 0, 0x40000)])

    def test_order_and_odd_masks_read_back(self):
        path = self.put('f')
        me = self.owner()
        sddl = 'D:P(A;;0x1f01ff;;;%s)(D;;0x2;;;S-1-5-21-9-9-9-1234)' \
            '(A;;0x10;;;S-1-5-21-9-9-9-1234)(D;;0x100000;;;AN)' % me
        self.set(path, sddl)
        got = aces(self.get(path))
        self.assertEqual([a[3] for a in got], [0x1f01ff, 0x2, 0x10, 0x100000])

    def test_unknown_sids_read_back(self):
        path = self.put('f')
        me = self.owner()
        sid = 'S-1-5-21-3623811015-3361044348-30300820-1013'
        self.set(path, 'D:P(A;;FA;;;%s)(A;;FR;;;%s)' % (me, sid))
        self.assertEqual(aces(self.get(path))[1][0], sid)

    def test_empty_dacl_reads_back(self):
        path = self.put('f')
        self.set(path, 'D:P')
        self.assert_dacl(path, [])

    def test_descriptor_survives_rename_and_restart(self):
        path = self.put('f')
        self.set(path, 'D:P(A;;FA;;;%s)(A;;FR;;;WD)' % self.owner())
        before = self.get(path)
        self.tree.rename(path, self.path('g'))
        self.assertEqual(self.get(self.path('g')), before)
        self.env.smbd.restart()
        self.tree = self.connect()
        self.assertEqual(self.get(self.path('g')), before)

    def test_descriptor_survives_local_chmod(self):
        path = self.put('f')
        self.set(path, 'D:P(A;;FA;;;%s)(A;;FR;;;WD)' % self.owner())
        before = self.get(path)
        os.chmod(self.local('f'), 0o600)
        self.assertEqual(self.get(path), before)
        os.chmod(self.local('f'), 0o666)
        self.assertEqual(self.get(path), before)

    def test_attributes_leave_the_descriptor(self):
        path = self.put('f')
        self.set(path, 'D:P(A;;FA;;;%s)' % self.owner())
        before = self.get(path)
        for attributes in (smb.READONLY, smb.NORMAL, smb.HIDDEN):
            self.tree.set_basic(path, attributes=attributes)
            self.assertEqual(self.get(path), before)

    def test_descriptor_at_create(self):
        path = self.path('f')
        me = self.owner()
        with self.tree.create(path, access=FULL, sd=stored.descriptor(
                'D:P(A;;FA;;;%s)(A;;FR;;;BG)' % me)):
            pass
        self.assert_dacl(path, [(me, 0, 0, 0x1f01ff),
                                ('S-1-5-32-546', 0, 0, 0x120089)])

    def test_only_the_parts_asked_for_come_back(self):
        path = self.put('f')
        whole = stored.parse_descriptor(self.get(path))
        self.assertIsNotNone(whole.owner_sid)
        only = stored.parse_descriptor(self.get(path, DACL))
        self.assertIsNone(only.owner_sid)
        self.assertIsNone(only.group_sid)
        self.assertIsNotNone(only.dacl)
        only = stored.parse_descriptor(self.get(path, OWNER))
        self.assertIsNotNone(only.owner_sid)
        self.assertIsNone(only.dacl)

    # Enforced.

    def test_denied_by_the_dacl(self):
        path = self.put('f')
        other = self.connect(user='other')
        me = self.owner()
        self.set(path, 'D:P(A;;FA;;;%s)' % me)
        self.assert_status('ACCESS_DENIED', other.open, path,
                           access=smb.FILE_READ_DATA)
        self.set(path, 'D:P(A;;FA;;;%s)(A;;FR;;;WD)' % me)
        self.assertEqual(other.get(path), b'data')
        self.assert_status('ACCESS_DENIED', other.open, path,
                           access=smb.FILE_WRITE_DATA)

    def test_granted_by_the_dacl_alone(self):
        """Mode bits must not take away what the DACL grants."""
        path = self.put('f')
        other = self.connect(user='other')
        self.set(self.dir, 'D:P(A;OICI;FA;;;%s)(A;OICI;FA;;;WD)' %
                 self.owner())
        self.set(path, 'D:P(A;;FA;;;%s)(A;;FA;;;WD)' % self.owner())
        with other.open(path, access=smb.FILE_READ_DATA |
                        smb.FILE_WRITE_DATA) as h:
            h.write(b'other')
        self.assertEqual(self.tree.get(path), b'other')

    def test_owner_may_always_read_and_change_the_dacl(self):
        path = self.put('f')
        self.set(path, 'D:P')
        self.assert_status('ACCESS_DENIED', self.tree.open, path,
                           access=smb.FILE_READ_DATA)
        self.set(path, 'D:P(A;;FA;;;%s)' % self.owner())
        self.assertEqual(self.tree.get(path), b'data')

    def test_explicit_deny_wins(self):
        path = self.put('f')
        other = self.connect(user='other')
        sid = self.sid_of_other()
        self.set(path, 'D:P(D;;FW;;;%s)(A;;FA;;;WD)' % sid)
        self.assertEqual(other.get(path), b'data')
        self.assert_status('ACCESS_DENIED', other.open, path,
                           access=smb.FILE_WRITE_DATA)

    def sid_of_other(self):
        self.set(self.dir, 'D:P(A;OICI;FA;;;WD)')
        other = self.connect(user='other')
        path = self.path('others')
        other.put(path)
        with other.open(path, access=smb.READ_CONTROL) as h:
            return str(stored.parse_descriptor(h.security()).owner_sid)

    def test_changing_the_dacl_needs_write_dac(self):
        path = self.put('f')
        other = self.connect(user='other')
        self.set(path, 'D:P(A;;FA;;;%s)(A;;FRFW;;;WD)' % self.owner())
        self.assert_status('ACCESS_DENIED', other.open, path,
                           access=smb.WRITE_DAC)
        with other.open(path, access=smb.FILE_READ_DATA) as h:
            self.assert_status('ACCESS_DENIED', h.set_security,
                               stored.descriptor('D:P(A;;FA;;;WD)'))

    def test_a_granted_handle_keeps_its_access(self):
        path = self.put('f')
        with self.tree.open(path, access=FULL) as h:
            h.set_security(stored.descriptor('D:P'))
            self.assertEqual(h.read(4), b'data')
            h.write(b'DATA')
            h.set_security(stored.descriptor('D:P(A;;FA;;;WD)'))

    # B45: inheritance.

    def descriptor(self, control, sddl_aces):
        """DACL with these control bits."""
        parsed = stored.parse_descriptor(stored.descriptor('D:' + sddl_aces))
        parsed.type |= control
        return stored.pack_descriptor(parsed)

    def parent(self, control, sddl_aces):
        with self.tree.open(self.dir, access=FULL) as h:
            h.set_security(self.descriptor(control, sddl_aces))

    def test_B45_auto_inherited_sticks_only_with_the_request_bit(self):
        path = self.put('f')
        me = self.owner()
        grant = '(A;;FA;;;%s)' % me
        for control, want in ((AUTO_INHERITED | AUTO_INHERIT_REQ,
                               AUTO_INHERITED),
                              (AUTO_INHERITED, 0),
                              (AUTO_INHERIT_REQ, 0),
                              (PROTECTED, PROTECTED),
                              (PROTECTED | AUTO_INHERITED |
                               AUTO_INHERIT_REQ,
                               PROTECTED | AUTO_INHERITED)):
            with self.tree.open(path, access=FULL) as h:
                h.set_security(self.descriptor(control, grant))
                got = self.control(h.security())
            self.assertEqual(got & (AUTO_INHERITED | AUTO_INHERIT_REQ |
                                    PROTECTED), want,
                             'control 0x%x' % control)

    def test_B45_creator_owner_auto_inherited(self):
        me = self.owner()
        self.parent(AUTO_INHERITED | AUTO_INHERIT_REQ,
                    '(A;OICI;FA;;;CO)(A;OICI;FA;;;%s)' % me)
        self.tree.mkdir(self.path('child'))
        got = aces(self.get(self.path('child')))
        self.assertIn((me, 0, INHERITED, FULL), got)
        self.assertIn((CREATOR_OWNER, 0, OI | CI | IO | INHERITED, FULL),
                      got)
        self.tree.put(self.path('file'))
        got = aces(self.get(self.path('file')))
        self.assertEqual(set(got), {(me, 0, INHERITED, FULL)})

    def test_B45_creator_owner_without_auto_inherit(self):
        me = self.owner()
        self.parent(0, '(A;OICI;FA;;;CO)(A;OICI;FA;;;%s)' % me)
        self.tree.mkdir(self.path('child'))
        got = aces(self.get(self.path('child')))
        self.assertIn((CREATOR_OWNER, 0, OI | CI | IO, FULL), got)
        self.assertFalse(any(flags & INHERITED for _, _, flags, _ in got))
        self.tree.put(self.path('file'))
        got = aces(self.get(self.path('file')))
        self.assertEqual(set(got), {(me, 0, 0, FULL)})

    def test_B45_object_inherit_only_on_a_child_directory(self):
        me = self.owner()
        self.parent(0, '(A;CI;FA;;;%s)(A;OI;FR;;;BG)' % me)
        self.tree.mkdir(self.path('child'))
        self.assertIn(('S-1-5-32-546', 0, OI | IO, 0x120089),
                      aces(self.get(self.path('child'))))
        self.tree.mkdir(self.path('child', 'grandchild'))
        self.assertIn(('S-1-5-32-546', 0, OI | IO, 0x120089),
                      aces(self.get(self.path('child', 'grandchild'))))
        self.tree.put(self.path('child', 'file'))
        self.assertIn(('S-1-5-32-546', 0, 0, 0x120089),
                      aces(self.get(self.path('child', 'file'))))

    def test_B45_no_propagate(self):
        me = self.owner()
        self.parent(0, '(A;OICI;FA;;;%s)(A;CINP;FR;;;BG)' % me)
        self.tree.mkdir(self.path('child'))
        self.assertIn(('S-1-5-32-546', 0, 0, 0x120089),
                      aces(self.get(self.path('child'))))
        self.tree.mkdir(self.path('child', 'grandchild'))
        self.assertNotIn('S-1-5-32-546',
                         [a[0] for a in
                          aces(self.get(self.path('child', 'grandchild')))])

    def test_B45_not_inheritable_aces_stay(self):
        me = self.owner()
        self.parent(0, '(A;OICI;FA;;;%s)(A;;FR;;;BG)' % me)
        self.tree.mkdir(self.path('child'))
        self.assertEqual(aces(self.get(self.path('child'))),
                         [(me, 0, OI | CI, FULL)])

    def test_B45_protected_is_not_passed_on(self):
        me = self.owner()
        self.parent(PROTECTED | AUTO_INHERITED | AUTO_INHERIT_REQ,
                    '(A;OICI;FA;;;%s)' % me)
        self.tree.put(self.path('file'))
        self.assertFalse(self.control(self.get(self.path('file'))) &
                         PROTECTED)

    def test_B45_the_creating_handle_gets_what_it_asked_for(self):
        me = self.owner()
        self.parent(0, '(A;;FA;;;%s)(A;OICI;FR;;;WD)' % me)
        path = self.path('file')
        with self.tree.create(path, access=smb.FILE_WRITE_DATA |
                              smb.FILE_READ_DATA) as h:
            h.write(b'data')
        self.assertEqual(self.tree.get(path), b'data')
        self.assert_status('ACCESS_DENIED', self.tree.open, path,
                           access=smb.FILE_WRITE_DATA)

    def test_B45_rename_does_not_inherit_again(self):
        me = self.owner()
        self.parent(0, '(A;OICI;FA;;;%s)' % me)
        for name in 'a', 'b':
            self.tree.mkdir(self.path(name))
        self.set(self.path('b'), 'D:P(A;OICI;FA;;;%s)(A;OICI;FR;;;BG)' % me)
        self.tree.put(self.path('a', 'f'))
        before = self.get(self.path('a', 'f'))
        self.tree.rename(self.path('a', 'f'), self.path('b', 'f'))
        self.assertEqual(self.get(self.path('b', 'f')), before)

    def test_B45_new_file_without_inheritable_aces(self):
        """No ACE to inherit: some default that at least its owner can use,
        never an open door."""
        me = self.owner()
        self.parent(0, '(A;;FA;;;%s)' % me)
        path = self.path('file')
        self.tree.put(path, b'data')
        self.assertEqual(self.tree.get(path), b'data')
        self.assertNotIn(EVERYONE, [a[0] for a in aces(self.get(path))])

    def test_streams_follow_the_descriptor_of_their_file(self):
        path = self.put('f')
        self.tree.put(path + ':s', b'x')
        self.set(path, 'D:P(A;;FR;;;%s)' % self.owner())
        self.assert_status('ACCESS_DENIED', self.tree.open, path + ':s',
                           access=smb.FILE_WRITE_DATA)
        self.assertEqual(self.tree.get(path + ':s'), b'x')

    # B46: a descriptor too big for the store.

    def big(self, count):
        me = self.owner()
        path = self.put('f', b'main')
        self.tree.set_basic(path, attributes=smb.HIDDEN)
        self.tree.put(path + ':s', b'stream', disposition=smb.CREATE)
        self.tree.set_basic(path, attributes=smb.HIDDEN)
        before = self.get(path)
        sddl = 'D:P(A;;FA;;;%s)' % me
        sddl += ''.join('(A;;FR;;;S-1-5-21-1111111111-2222222222-3333333333-'
                        '%d)' % (10000 + i) for i in range(count - 1))
        try:
            self.set(path, sddl)
        except NTError as e:
            self.assertNotEqual(smb.status_name(e.status), 'DISK_FULL')
            self.assertEqual(self.get(path), before)
            refused = True
        else:
            self.assertEqual(len(aces(self.get(path))), count)
            refused = False
        self.assertEqual(self.tree.get(path + ':s'), b'stream')
        self.assertEqual(self.tree.attributes(path), smb.HIDDEN)
        return refused

    def test_B46_50_aces(self):
        self.assertFalse(self.big(50))

    def test_B46_60_aces(self):
        self.assertFalse(self.big(60))

    def test_B46_120_aces(self):
        self.big(120)

    def test_B46_1024_aces(self):
        self.big(1024)

    def test_B46_1700_aces(self):
        self.big(1700)


if __name__ == '__main__':
    smb_test.main()
