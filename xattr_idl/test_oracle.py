#!/usr/bin/python3
# Compare our reading and writing of the xattr records with Samba's own.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The oracle is Samba: what its ndr_pack() makes must decode here to the same
# members, what we make must be the same to its ndr_unpack(), to ndrdump and to
# samba-tool. The golden blobs are compared byte by byte with what Samba makes
# today, and with what our IDL makes of them.
#
#   xattr_idl/test_oracle.py                       all tests
#   xattr_idl/test_oracle.py Oracle.test_golden    one of them
#   xattr_idl/test_oracle.py --write-golden        write golden blobs that are
#                                                  not there yet; none that is
#                                                  there is ever changed
#
# Random values are the same in every run; XATTR_SEED=N makes others.

import datetime
import os
import random
import subprocess
import sys
import tempfile
import unittest

try:
    from samba.dcerpc import security, xattr
    from samba.ndr import ndr_pack, ndr_unpack
    TYPES = {'dosattrib': xattr.DOSATTRIB, 'samba4': xattr.DosAttrib,
             'ntacl': xattr.NTACL, 'streams': xattr.DosStreams,
             'eas': xattr.DosEAs}
except ImportError:
    TYPES = None

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, 'golden')
TOOL = os.environ.get('XATTR_BLOB_TOOL') or os.path.join(
    os.path.dirname(HERE), 'bin', 'xattr_blob_tool')
SEED = os.environ.get('XATTR_SEED', '1')
ROUNDS = 300

ATTRIBUTES = ['READONLY', 'HIDDEN', 'SYSTEM', 'VOLUME', 'DIRECTORY',
              'ARCHIVE', 'DEVICE', 'NORMAL', 'TEMPORARY', 'SPARSE',
              'REPARSE_POINT', 'COMPRESSED', 'OFFLINE',
              'NOT_CONTENT_INDEXED', 'ENCRYPTED', 'INTEGRITY_STREAM', None,
              'NO_SCRUB_DATA', 'RECALL_ON_OPEN', 'PINNED', 'UNPINNED', None,
              'RECALL_ON_DATA_ACCESS']

# A moment with all seven decimals, and some after it.
TIME = 127457712001234567


# Making the golden blobs, with Samba's own library.

def dos_record(version, cls=xattr.DOSATTRIB, **members):
    record = cls()
    record.version = version
    for name, value in members.items():
        setattr(record.info, name, value)
    return ndr_pack(record)


def descriptor(sddl):
    return security.descriptor.from_sddl(
        sddl, security.dom_sid('S-1-5-21-1-2-3'))


SDDL = ('O:S-1-5-21-1004336348-1177238915-682003330-1000G:DU'
        'D:AI(A;OICI;FA;;;SY)(A;OICIID;0x001301bf;;;WD)(D;;0x00000002;;;BG)')
SDDL_SACL = SDDL.replace('D:AI', 'D:PAI') + 'S:AI(AU;SAFA;FA;;;WD)'
SDDL_OBJECT = ('O:BAG:BAD:(OA;;RPWP;bf967a7f-0de6-11d0-a285-00aa003049e2;'
               'bf967aba-0de6-11d0-a285-00aa003049e2;AU)')


def nt_acl(version, sd, **members):
    record = xattr.NTACL()
    record.version = version
    if version == 1:
        record.info = sd
    else:
        info = {2: xattr.security_descriptor_hash_v2,
                3: xattr.security_descriptor_hash_v3,
                4: xattr.security_descriptor_hash_v4}[version]()
        info.sd = sd
        for name, value in members.items():
            setattr(info, name, value)
        record.info = info
    return ndr_pack(record)


def null_dacl():
    sd = descriptor('O:BAG:BA')
    sd.type |= security.SEC_DESC_DACL_PRESENT
    return sd


def streams(*entries):
    record = xattr.DosStreams()
    record.num_streams = len(entries)
    made = []
    for name, size, allocation, flags in entries:
        stream = xattr.DosStream()
        stream.name = name
        stream.size = size
        stream.alloc_size = allocation
        stream.flags = flags
        made.append(stream)
    record.streams = made
    return ndr_pack(record)


def eas(*entries):
    record = xattr.DosEAs()
    record.num_eas = len(entries)
    made = []
    for name, value in entries:
        ea = xattr.EA()
        ea.name = name
        ea.value = value
        made.append(ea)
    record.eas = made
    return ndr_pack(record)


def golden_blobs():
    """name: (type, bytes, where such a blob comes from)"""
    all_flags = 0x3f
    v3 = dict(attrib=0x22, ea_size=4, size=12345, alloc_size=16384,
              create_time=TIME, change_time=TIME + 7)
    v3_ours = dict(valid_flags=0x31, attrib=0x22, create_time=TIME,
                   change_time=TIME + 7)
    hashes = dict(hash=[i & 255 for i in range(64)], hash_type=1)
    return {
        'dosattrib-text': ('dosattrib', b'0x20',
                           'smbd 3.0, and Wine, dosemu2, DOSBox: no NUL byte'),
        'dosattrib-text-nul': ('dosattrib', b'0x2027\0',
                               'the same as ndr_pack(version 0xFFFF) has it'),
        'dosattrib-1': ('dosattrib', dos_record(
            1, attrib=0x2, ea_size=4, size=12345, alloc_size=16384,
            create_time=TIME, change_time=TIME + 7),
            'ndr_pack; no smbd ever wrote it'),
        'dosattrib-2': ('dosattrib', dos_record(
            2, flags=1, attrib=0x2, ea_size=4, size=12345, alloc_size=16384,
            create_time=TIME, change_time=TIME + 7, write_time=TIME + 9,
            name='file.txt'), 'ndr_pack; no smbd ever wrote it'),
        'dosattrib-3': ('dosattrib', dos_record(
            3, valid_flags=0x11, attrib=0x20, create_time=TIME),
            'smbd from 3.5 until 4.10'),
        'dosattrib-3-all': ('dosattrib', dos_record(
            3, valid_flags=all_flags, **v3), 'ndr_pack, every member valid'),
        'dosattrib-3-none': ('dosattrib', dos_record(
            3, valid_flags=0, **v3), 'ndr_pack, no member valid'),
        'dosattrib-3-ntvfs': ('dosattrib', dos_record(3, **v3_ours),
                              'what ntvfs itself writes'),
        'dosattrib-4': ('dosattrib', dos_record(
            4, valid_flags=0x51, attrib=0x20, itime=TIME + 5,
            create_time=TIME), 'smbd from 4.11 until about 4.15, and ksmbd'),
        'dosattrib-5': ('dosattrib', dos_record(
            5, valid_flags=0x11, attrib=0x20, create_time=TIME),
            'smbd since about 4.16'),
        'samba4-1': ('samba4', dos_record(
            1, xattr.DosAttrib, attrib=0x22, ea_size=4, size=12345,
            alloc_size=16384, create_time=TIME, change_time=TIME + 7),
            "Samba 4's own file server"),
        'samba4-2': ('samba4', dos_record(
            2, xattr.DosAttrib, flags=1, attrib=0x20, size=1,
            alloc_size=4096, create_time=TIME, change_time=TIME + 7,
            write_time=TIME + 9, name='file.txt'),
            "Samba 4's own file server, some months of 2004"),
        'ntacl-1': ('ntacl', nt_acl(1, descriptor(SDDL)),
                    "Samba 4's own file server; "
                    'samba-tool ntacl set --use-ntvfs'),
        'ntacl-2': ('ntacl', nt_acl(2, descriptor(SDDL),
                                    hash=list(range(16))),
                    'the first acl_xattr; long gone'),
        'ntacl-3': ('ntacl', nt_acl(3, descriptor(SDDL), **hashes),
                    'acl_xattr where the POSIX ACL cannot be hashed'),
        'ntacl-3-ignore': ('ntacl', nt_acl(3, descriptor(SDDL_SACL),
                                           hash_type=1, hash=[0] * 64),
                           'acl_xattr with "ignore system acls = yes"; '
                           'what ntvfs itself writes'),
        'ntacl-4': ('ntacl', nt_acl(4, descriptor(SDDL), time=TIME,
                                    description='posix_acl',
                                    sys_acl_hash=[255 - i
                                                  for i in range(64)],
                                    **hashes), 'acl_xattr; ksmbd'),
        'ntacl-1-null-dacl': ('ntacl', nt_acl(1, null_dacl()),
                              'ndr_pack: everybody may do everything'),
        'ntacl-1-empty-dacl': ('ntacl', nt_acl(1, descriptor('O:BAG:BAD:')),
                               'ndr_pack: nobody may do anything'),
        'ntacl-1-no-dacl': ('ntacl', nt_acl(1, descriptor('O:BAG:BA')),
                            'ndr_pack'),
        'ntacl-1-object': ('ntacl', nt_acl(1, descriptor(SDDL_OBJECT)),
                           'ndr_pack: an object ACE'),
        'streams-none': ('streams', streams(),
                         "Samba 4's own file server, last stream deleted"),
        'streams-two': ('streams', streams(
            ('Zone.Identifier:$DATA', 26, 512, 1),
            ('\u00fcber:$DATA', 0, 0, 1)), 'ndr_pack, names with a type'),
        'streams-samba4': ('streams', streams(
            ('Zone.Identifier', 26, 512, 1)), "Samba 4's own file server"),
        'eas-none': ('eas', eas(), "Samba 4's own file server"),
        'eas-two': ('eas', eas(('FOO', b'bar'), ('EMPTY', b'')),
                    "Samba 4's own file server"),
    }


def write_golden():
    for name, (kind, blob, origin) in golden_blobs().items():
        path = os.path.join(GOLDEN, name + '.hex')
        if os.path.exists(path):
            continue
        text = blob.hex()
        with open(path, 'w') as f:
            for i in range(0, len(text), 64):
                f.write(text[i:i + 64] + '\n')
        with open(os.path.join(GOLDEN, name + '.txt'), 'w') as f:
            f.write(expected(kind, blob))
        with open(os.path.join(GOLDEN, 'INDEX'), 'a') as f:
            f.write('%s\t%s\t%s\n' % (name, kind, origin))
        print('wrote', path)


def read_golden():
    with open(os.path.join(GOLDEN, 'INDEX')) as f:
        for line in f:
            if line.startswith('#') or not line.strip():
                continue
            name, kind, origin = line.rstrip('\n').split('\t')
            with open(os.path.join(GOLDEN, name + '.hex')) as hexfile:
                blob = bytes.fromhex(hexfile.read())
            with open(os.path.join(GOLDEN, name + '.txt')) as textfile:
                yield name, kind, blob, textfile.read()


# What our text must say, from what Samba's ndr_unpack() found.

def iso(time):
    if time == 0:
        return '0'
    if time == 2**64 - 1:
        return '-1'
    seconds, rest = divmod(time, 10**7)
    try:
        moment = datetime.datetime(1601, 1, 1) + \
            datetime.timedelta(seconds=seconds)
    except OverflowError:
        return None
    return '%s.%07dZ' % (moment.strftime('%Y-%m-%dT%H:%M:%S').rjust(19, '0'),
                         rest)


def bits(value, names):
    if value == 0:
        return 'none'
    said = []
    for i, name in enumerate(names):
        if name and value & 1 << i:
            said.append(name)
            value &= ~(1 << i)
    if value:
        said.append('0x%x' % value)
    return '|'.join(said)


def is_time(time):
    return 0 < time < 2**63


def expected_dosattrib(record):
    info = record.info
    version = record.version
    if version == 0xffff:
        return 'record: hex text\nattributes: 0x%x %s\n' % (
            info.attrib, bits(info.attrib, ATTRIBUTES))
    flags = 0x3e if version < 3 else info.valid_flags
    text = 'record: version %u\n' % version
    text += 'attributes: 0x%x %s\n' % (info.attrib,
                                       bits(info.attrib, ATTRIBUTES))
    if flags & 0x10 and is_time(info.create_time):
        text += 'create time: %s\n' % iso(info.create_time)
    if flags & 0x20 and version <= 3 and is_time(info.change_time):
        text += 'change time: %s\n' % iso(info.change_time)
    if version == 2 and info.flags & 1 and is_time(info.write_time):
        text += 'write time: %s\n' % iso(info.write_time)
    if version == 4 and flags & 0x40 and is_time(info.itime):
        text += 'file id time: %s\n' % iso(info.itime)
    if version <= 3 and flags & 4:
        text += 'size then: %u\n' % info.size
    if version <= 3 and flags & 8:
        text += 'allocation then: %u\n' % info.alloc_size
    if version <= 3 and flags & 2:
        text += 'EA size: %u\n' % info.ea_size
    return text


CONTROL = ['OWNER_DEFAULTED', 'GROUP_DEFAULTED', 'DACL_PRESENT',
           'DACL_DEFAULTED', 'SACL_PRESENT', 'SACL_DEFAULTED',
           'DACL_TRUSTED', 'SERVER_SECURITY', 'DACL_AUTO_INHERIT_REQ',
           'SACL_AUTO_INHERIT_REQ', 'DACL_AUTO_INHERITED',
           'SACL_AUTO_INHERITED', 'DACL_PROTECTED', 'SACL_PROTECTED',
           'RM_CONTROL_VALID', 'SELF_RELATIVE']
ACE_FLAGS = ['OBJECT_INHERIT', 'CONTAINER_INHERIT', 'NO_PROPAGATE',
             'INHERIT_ONLY', 'INHERITED', None, 'SUCCESSFUL_ACCESS',
             'FAILED_ACCESS']
ACE_TYPES = {0: 'allow', 1: 'deny', 2: 'audit', 3: 'alarm',
             5: 'allow object', 6: 'deny object', 7: 'audit object',
             8: 'alarm object'}
RIGHTS = ['READ_DATA', 'WRITE_DATA', 'APPEND_DATA', 'READ_EA', 'WRITE_EA',
          'EXECUTE', 'DELETE_CHILD', 'READ_ATTRIBUTES', 'WRITE_ATTRIBUTES',
          None, None, None, None, None, None, None, 'DELETE',
          'READ_CONTROL', 'WRITE_DAC', 'WRITE_OWNER', 'SYNCHRONIZE', None,
          None, None, 'SYSTEM_SECURITY', 'MAXIMUM_ALLOWED', None, None,
          'GENERIC_ALL', 'GENERIC_EXECUTE', 'GENERIC_WRITE',
          'GENERIC_READ']
RIGHT_SETS = [(0x1f01ff, 'FULL'), (0x1301bf, 'MODIFY'),
              (0x1200a9, 'READ+EXECUTE'), (0x120089, 'READ'),
              (0x120116, 'WRITE')]


def rights(mask):
    said = []
    for value, name in RIGHT_SETS:
        if mask & value == value:
            said.append(name)
            mask &= ~value
    if mask:
        said.append(bits(mask, RIGHTS))
    return '|'.join(said) or 'none'


def expected_acl(label, present, acl):
    if not present:
        return '%s: absent\n' % label
    if acl is None:
        return '%s: NULL\n' % label
    text = '%s: revision %u, %u %s\n' % (
        label, acl.revision, acl.num_aces,
        'entry' if acl.num_aces == 1 else 'entries')
    for ace in acl.aces:
        text += '  %s %s 0x%08x %s' % (ACE_TYPES[ace.type], ace.trustee,
                                       ace.access_mask,
                                       rights(ace.access_mask))
        if ace.flags:
            text += ' (%s)' % bits(ace.flags, ACE_FLAGS)
        if ace.type in (5, 6, 7, 8):
            if ace.object.flags & 1:
                text += ' object %s' % ace.object.type
            if ace.object.flags & 2:
                text += ' inherited by %s' % ace.object.inherited_type
        text += '\n'
    return text


def expected_hash(label, value):
    value = bytes(value)
    if value == bytes(len(value)):
        return '%s: zeros\n' % label
    return '%s: %s\n' % (label, value.hex())


def expected_ntacl(record):
    info = record.info
    sd = info if record.version == 1 else info.sd
    text = 'record: version %u\n' % record.version
    if record.version == 2:
        text += expected_hash('hash', info.hash)
    if record.version >= 3:
        text += 'hash type: %u\n' % info.hash_type
        text += expected_hash('hash', info.hash)
    if record.version == 4:
        text += expected_hash('POSIX ACL hash', info.sys_acl_hash)
        text += 'hashed at: %s\n' % iso(info.time)
        text += 'hashed from: "%s"\n' % info.description
    text += 'control: 0x%04x %s\n' % (sd.type, bits(sd.type, CONTROL))
    text += 'owner: %s\n' % (sd.owner_sid or 'none')
    text += 'group: %s\n' % (sd.group_sid or 'none')
    text += expected_acl('DACL', sd.type & 4, sd.dacl)
    text += expected_acl('SACL', sd.type & 16, sd.sacl)
    return text


def expected(kind, blob):
    record = ndr_unpack(TYPES[kind], blob, allow_remaining=False)
    if kind in ('dosattrib', 'samba4'):
        return expected_dosattrib(record)
    if kind == 'ntacl':
        return expected_ntacl(record)
    if kind == 'streams':
        return ''.join('"%s" size %u allocation %u flags 0x%x\n' %
                       (s.name, s.size, s.alloc_size, s.flags)
                       for s in record.streams or [])
    return ''.join('"%s" %u bytes\n' % (ea.name, len(ea.value))
                   for ea in record.eas or [])


@unittest.skipUnless(TYPES, 'python3-samba is not installed')
class Oracle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(TOOL):
            raise AssertionError('%s is not there: run ./waf build' % TOOL)
        cls.tool = subprocess.Popen([TOOL], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE)

    @classmethod
    def tearDownClass(cls):
        cls.tool.stdin.close()
        cls.tool.stdout.close()
        assert cls.tool.wait() == 0, '%s failed' % TOOL

    def setUp(self):
        self.random = random.Random('%s %s' % (SEED, self._testMethodName))

    def ask(self, *words):
        line = ' '.join(str(word) for word in words) + '\n'
        self.tool.stdin.write(line.encode())
        self.tool.stdin.flush()
        return self.tool.stdout.readline().decode().rstrip('\n')

    def make(self, *words):
        answer = self.ask(*words)
        self.assertTrue(answer.startswith('ok '), answer)
        return bytes.fromhex(answer[3:])

    def check_decoding(self, kind, blob, text):
        self.assertEqual(self.ask('decode', kind, blob.hex()),
                         'ok ' + text.replace('\n', '|'),
                         'decode %s %s' % (kind, blob.hex()))

    def check(self, kind, blob):
        """What Samba made: the same to us, and the same made by us."""
        self.check_decoding(kind, blob, expected(kind, blob))
        if kind == 'dosattrib' and b'\0' not in blob[:-1]:
            return
        self.assertEqual(self.ask('again', kind, blob.hex()),
                         'ok ' + blob.hex(),
                         'again %s %s' % (kind, blob.hex()))

    def any_time(self):
        return self.random.choice([
            0, 1, TIME, self.random.randrange(2650467743999999999),
            2**63 + self.random.randrange(2**63), 2**64 - 1])

    def any_attributes(self):
        return self.random.choice([0, 0x20, 0x80, 0x2027,
                                   self.random.randrange(2**32),
                                   1 << self.random.randrange(32)])

    def any_sd(self):
        sids = ['BA', 'WD', 'SY', 'CO', 'AU', 'S-1-5-21-1-2-3-500',
                'S-1-22-1-%u' % self.random.randrange(2**32)]
        def sid():
            return self.random.choice(sids)
        def ace(types, flags):
            return '(%s;%s;0x%08x;;;%s)' % (
                self.random.choice(types), ''.join(
                    flag for flag in flags if self.random.random() < 0.3),
                self.random.choice([0x1f01ff, 0x1200a9,
                                    self.random.randrange(2**32)]), sid())
        inherit = ['OI', 'CI', 'NP', 'IO', 'ID']
        sddl = 'O:%sG:%s' % (sid(), sid())
        if self.random.random() < 0.9:
            # Samba's parser wants an ACE between the flags and an "S:".
            sddl += 'D:' + self.random.choice(['', 'P', 'AI', 'PAI']) + \
                ''.join(ace(['A', 'D'], inherit)
                        for _ in range(self.random.randrange(1, 12)))
        if self.random.random() < 0.3:
            sddl += 'S:' + ''.join(ace(['AU'], inherit + ['SA', 'FA'])
                                   for _ in range(self.random.randrange(4)))
        return descriptor(sddl)

    def test_golden(self):
        """Golden blobs: text, Samba's members, Samba's bytes, our bytes."""
        made = golden_blobs()
        seen = set()
        for name, kind, blob, text in read_golden():
            with self.subTest(name):
                seen.add(name)
                self.assertEqual(expected(kind, blob), text)
                self.assertEqual(made[name][0], kind)
                self.assertEqual(made[name][1].hex(), blob.hex())
                self.check(kind, blob)
        self.assertEqual(seen, set(made))

    def test_random_dosattrib(self):
        for _ in range(ROUNDS):
            version = self.random.randrange(1, 6)
            cls = xattr.DOSATTRIB
            if version < 3:
                cls = self.random.choice([cls, xattr.DosAttrib])
            members = dict(attrib=self.any_attributes(),
                           create_time=self.any_time())
            if version >= 3:
                members['valid_flags'] = self.random.randrange(2**7)
            if version <= 3:
                members.update(ea_size=self.random.randrange(2**32),
                               size=self.random.randrange(2**64),
                               alloc_size=self.random.randrange(2**64),
                               change_time=self.any_time())
            if version == 2:
                members.update(flags=self.random.randrange(2),
                               write_time=self.any_time(),
                               name='n' * self.random.randrange(9))
            if version == 4:
                members['itime'] = self.any_time()
            kind = 'samba4' if cls is xattr.DosAttrib else 'dosattrib'
            self.check(kind, dos_record(version, cls, **members))

    def test_random_ntacl(self):
        for _ in range(ROUNDS):
            version = self.random.randrange(1, 5)
            members = {}
            if version > 1:
                size = 16 if version == 2 else 64
                members['hash'] = list(self.random.randbytes(size))
            if version > 2:
                members['hash_type'] = self.random.randrange(2**16)
            if version == 4:
                members.update(description='d' * self.random.randrange(20),
                               time=self.any_time() % 2650467743999999999,
                               sys_acl_hash=list(
                                   self.random.randbytes(64)))
            self.check('ntacl', nt_acl(version, self.any_sd(), **members))

    def test_random_lists(self):
        names = ['', 'a', 'Zone.Identifier:$DATA', '\u00e4\u20ac',
                 '\U0001f600', 'n' * 255]
        for _ in range(ROUNDS):
            count = self.random.randrange(6)
            self.check('streams', streams(*[
                (self.random.choice(names), self.random.randrange(2**64),
                 self.random.randrange(2**64), self.random.randrange(2**32))
                for _ in range(count)]))
            self.check('eas', eas(*[
                (self.random.choice(names),
                 self.random.randbytes(self.random.randrange(30)))
                for _ in range(count)]))

    def test_random_text(self):
        for _ in range(ROUNDS):
            text = '0x%x' % self.random.randrange(2**32)
            text += self.random.choice(['', '\0'])
            self.check('dosattrib', text.encode())

    def test_encode_dosattrib(self):
        """What we write is what Samba would have written."""
        for _ in range(ROUNDS):
            valid = self.random.choice([0x31, self.random.randrange(256)])
            attributes = self.any_attributes()
            times = [self.any_time(), self.any_time()]
            blob = self.make('dosattrib', valid, attributes, *times)
            record = ndr_unpack(xattr.DOSATTRIB, blob,
                                allow_remaining=False)
            flags = valid & 0x0f
            self.assertEqual(record.version, 3)
            for bit, time, stored in (
                    (0x10, times[0], record.info.create_time),
                    (0x20, times[1], record.info.change_time)):
                if valid & bit and is_time(time):
                    flags |= bit
                    self.assertEqual(stored, time)
                else:
                    self.assertEqual(stored, 0)
            self.assertEqual(record.info.valid_flags, flags)
            self.assertEqual(record.info.attrib,
                             attributes if valid & 1 else 0)
            self.assertEqual(ndr_pack(record).hex(), blob.hex())
            self.check('dosattrib', blob)

    def test_encode_ntacl(self):
        """What we write is what acl_xattr writes without system ACLs."""
        for _ in range(ROUNDS):
            sd = self.any_sd()
            blob = self.make('ntacl', ndr_pack(sd).hex())
            record = ndr_unpack(xattr.NTACL, blob, allow_remaining=False)
            self.assertEqual(record.version, 3)
            self.assertEqual(record.info.hash_type,
                             xattr.XATTR_SD_HASH_TYPE_SHA256)
            self.assertEqual(bytes(record.info.hash), bytes(64))
            sd.type |= security.SEC_DESC_SELF_RELATIVE
            self.assertEqual(ndr_pack(record.info.sd).hex(),
                             ndr_pack(sd).hex())
            self.assertEqual(nt_acl(3, sd, hash_type=1,
                                    hash=[0] * 64).hex(), blob.hex())
            self.check('ntacl', blob)

    def test_ndrdump(self):
        """ndrdump finds nothing wrong in any golden blob, nor in ours."""
        blobs = [('dosattrib', self.make('dosattrib', 0x31, 0x22, TIME,
                                         TIME + 7)),
                 ('ntacl', self.make('ntacl',
                                     ndr_pack(descriptor(SDDL_SACL)).hex()))]
        # A bare text it unpacks, but its --validate packs another form.
        blobs += [(kind, blob) for name, kind, blob, _ in read_golden()
                  if not name.startswith('dosattrib-text')]
        structs = {'dosattrib': 'xattr_DOSATTRIB',
                   'samba4': 'xattr_DosAttrib', 'ntacl': 'xattr_NTACL',
                   'streams': 'xattr_DosStreams', 'eas': 'xattr_DosEAs'}
        for kind, blob in blobs:
            with self.subTest(blob.hex()), \
                    tempfile.NamedTemporaryFile() as f:
                f.write(blob)
                f.flush()
                done = subprocess.run(
                    ['ndrdump', '--configfile=/dev/null', '--validate',
                     'xattr', structs[kind], 'struct', f.name],
                    capture_output=True, text=True)
                self.assertEqual(done.returncode, 0,
                                 done.stdout + done.stderr)
                self.assertIn('dump OK', done.stdout)
                self.assertNotIn('WARNING', done.stdout)

    def test_samba_tool(self):
        """samba-tool ntacl reads ours, and what it sets reads here."""
        sddl = ('O:S-1-5-21-1-2-3-500G:S-1-5-21-1-2-3-513D:PAI'
                '(A;OICI;0x001f01ff;;;SY)(A;ID;0x001301bf;;;WD)')
        blob = self.make('ntacl', ndr_pack(descriptor(sddl)).hex())
        with tempfile.NamedTemporaryFile(dir=HERE) as f:
            try:
                os.setxattr(f.name, 'security.NTACL', blob)
            except OSError as error:
                self.skipTest('security.NTACL cannot be set here: %s' % error)
            with tempfile.TemporaryDirectory() as folder:
                conf = os.path.join(folder, 'smb.conf')
                with open(conf, 'w') as smb_conf:
                    smb_conf.write('[global]\n')
                    for name in ('private dir', 'state directory',
                                 'lock directory', 'cache directory'):
                        smb_conf.write('%s = %s\n' % (name, folder))

                def run(*argv):
                    return subprocess.run(
                        list(argv) + ['--configfile=' + conf], check=True,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL, text=True).stdout.strip()

                run('net', 'setdomainsid', 'S-1-5-21-1-2-3')
                self.assertEqual(
                    descriptor(run('samba-tool', 'ntacl', 'get', '--as-sddl',
                                   '--use-ntvfs', f.name)).as_sddl(),
                    descriptor(sddl).as_sddl())
                os.removexattr(f.name, 'security.NTACL')
                run('samba-tool', 'ntacl', 'set', '--use-ntvfs', SDDL_SET,
                    f.name)
            blob = os.getxattr(f.name, 'security.NTACL')
            self.check('ntacl', blob)
            record = ndr_unpack(xattr.NTACL, blob)
            self.assertEqual(record.version, 1)
            self.assertEqual(record.info.as_sddl(),
                             descriptor(SDDL_SET).as_sddl())


SDDL_SET = 'O:S-1-5-21-1-2-3-500G:S-1-5-21-1-2-3-513D:(A;OICI;FA;;;SY)'


def main():
    if sys.argv[1:] == ['--write-golden']:
        write_golden()
        return
    unittest.main(verbosity=2)


if __name__ == '__main__':
    main()
