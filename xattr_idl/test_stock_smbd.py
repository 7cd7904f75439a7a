#!/usr/bin/python3
# Does a stock smbd read what we store, and do we read what it stores?
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The share is served by smbd's own acl_xattr (ignore system acls = yes) and
# streams_xattr; our code only makes and reads the values of the xattrs.

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TOP, 'torture'))

import private_smbd
from private_smbd import PrivateSmbd, Share, User

try:
    from impacket.smbconnection import SMBConnection
    from samba.dcerpc import security, xattr
    from samba.ndr import ndr_pack, ndr_unpack
except ImportError:
    SMBConnection = None

TOOL = os.path.join(TOP, 'bin', 'ntvfs-xattr')
BLOB_TOOL = os.path.join(TOP, 'bin', 'xattr_blob_tool')

# Access rights, information classes and parts of a descriptor (MS-SMB2).
READ_ATTRIBUTES = 0x80
READ_CONTROL = 0x20000
WRITE_DAC = 0x40000
FILE_BASIC_INFORMATION = 4
INFO_SECURITY = 3
OWNER_GROUP_DACL = 7
DACL = 4
TIME = 127457712001234567


def golden(name):
    with open(os.path.join(HERE, 'golden', name + '.hex')) as f:
        return bytes.fromhex(f.read())


def descriptor(sddl):
    return security.descriptor.from_sddl(
        sddl, security.dom_sid('S-1-5-21-1-2-3'))


def encode(request):
    answer = subprocess.run([BLOB_TOOL], input=request + '\n', text=True,
                            stdout=subprocess.PIPE, check=True).stdout
    assert answer.startswith('ok '), answer
    return bytes.fromhex(answer[3:])


@unittest.skipUnless(os.geteuid() == 0, 'it starts a server: needs root')
@unittest.skipUnless(SMBConnection,
                     'python3-impacket or python3-samba is not installed')
class StockSmbd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix='xattr',
                                                dir=TOP + '/build')
        cls.addClassCleanup(temporary.cleanup)
        # smbd appends names to its folder until a socket's is full.
        server = tempfile.TemporaryDirectory(prefix='xattr')
        cls.addClassCleanup(server.cleanup)
        options = dict(private_smbd.STOCK_FULL)
        cls.share = Share('stock', os.path.join(temporary.name, 'share'),
                          options, owner='nt', mode=0o777)
        cls.smbd = PrivateSmbd(os.path.join(server.name, 's'), [cls.share],
                               users=[User('nt')])
        cls.smbd.start()
        cls.addClassCleanup(cls.smbd.stop)
        cls.client = SMBConnection('127.0.0.1', '127.0.0.1',
                                   sess_port=cls.smbd.port)
        cls.client.login('nt', 'nt')
        cls.addClassCleanup(cls.client.close)
        cls.tree = cls.client.connectTree('stock')

    def make(self, name, xattr, value):
        path = os.path.join(self.share.path, name)
        with open(path, 'w'):
            pass
        owner = os.stat(self.share.path)
        os.chown(path, owner.st_uid, owner.st_gid)
        os.setxattr(path, xattr, value)
        return path

    def basic_information(self, name):
        """(create, access, write, change time, attributes)"""
        opened = self.client.openFile(self.tree, name,
                                      desiredAccess=READ_ATTRIBUTES)
        answer = self.client.getSMBServer().queryInfo(
            self.tree, opened, fileInfoClass=FILE_BASIC_INFORMATION)
        self.client.closeFile(self.tree, opened)
        return struct.unpack('<QQQQL', answer[:36])

    def dump(self, path):
        done = subprocess.run([TOOL, 'dump', '--json', path],
                              stdout=subprocess.PIPE, check=True)
        found, = json.loads(done.stdout)
        return {value['xattr']: value for value in found['xattrs']}

    def test_attributes_we_store(self):
        """Attributes and create time of our record, to 100 ns."""
        for attributes in (0x20, 0x2, 0x80, 0x27, 0x2020, 0x2122):
            with self.subTest(attributes):
                name = 'ours-%x' % attributes
                self.make(name, 'user.DOSATTRIB', encode(
                    'dosattrib %u %u %u %u' % (0x31, attributes, TIME,
                                               TIME + 7)))
                found = self.basic_information(name)
                # smbd 4.17 gives no more than these to a client.
                shown = attributes & 0x4e37 or 0x80
                self.assertEqual(found[4], shown)
                self.assertEqual(found[0], TIME)

    def test_golden_attributes(self):
        """What stock makes of each version is what we make of it."""
        for name in ('dosattrib-text', 'dosattrib-1', 'dosattrib-3',
                     'dosattrib-3-all', 'dosattrib-4', 'dosattrib-5'):
            with self.subTest(name):
                path = self.make(name, 'user.DOSATTRIB', golden(name))
                create, _, _, _, attributes = self.basic_information(name)
                ours = self.dump(path)['user.DOSATTRIB']
                self.assertEqual(attributes, ours['attributes'])
                if 'create_time_nt' in ours:
                    # Of version 1 it takes the seconds only.
                    unit = 10**7 if ours['version'] == 1 else 1
                    self.assertEqual(create // unit,
                                     ours['create_time_nt'] // unit)

    def test_attributes_it_stores(self):
        path = os.path.join(self.share.path, 'theirs')
        result = self.smbd.smbclient('stock', 'put /etc/hostname theirs; '
                                     'setmode theirs +hs')
        self.assertEqual(result.returncode, 0, result.stdout)
        ours = self.dump(path)['user.DOSATTRIB']
        found = self.basic_information('theirs')
        self.assertEqual(ours['attributes'], found[4])
        self.assertEqual(ours['attributes'] & 6, 6)
        self.assertEqual(ours['create_time_nt'], found[0])

    def query_acl(self, name):
        """The descriptor a client sees, marshalled."""
        opened = self.client.openFile(self.tree, name,
                                      desiredAccess=READ_CONTROL)
        answer = self.client.getSMBServer().queryInfo(
            self.tree, opened, infoType=INFO_SECURITY, fileInfoClass=0,
            additionalInformation=OWNER_GROUP_DACL)
        self.client.closeFile(self.tree, opened)
        return answer

    def set_dacl(self, name, sddl):
        opened = self.client.openFile(self.tree, name,
                                      desiredAccess=WRITE_DAC)
        self.client.getSMBServer().setInfo(
            self.tree, opened, ndr_pack(descriptor(sddl)),
            infoType=INFO_SECURITY, fileInfoClass=0,
            additionalInformation=DACL)
        self.client.closeFile(self.tree, opened)

    def test_acl_it_stores_and_we_store_again(self):
        path = os.path.join(self.share.path, 'acl')
        result = self.smbd.smbclient('stock', 'put /etc/hostname acl')
        self.assertEqual(result.returncode, 0, result.stdout)
        self.set_dacl('acl', 'D:P(A;;0x001200a9;;;BG)(A;;0x001f01ff;;;WD)')
        stored = os.getxattr(path, 'security.NTACL')
        ours = self.dump(path)['security.NTACL']
        self.assertEqual(ours['version'], 3)
        self.assertEqual(ours['hash_type'], 1)
        self.assertEqual(ours['hash'], '00' * 64)
        self.assertIn('D:P(A;;0x001200a9;;;BG)(A;;0x001f01ff;;;WD)',
                      ours['sddl'])
        shown = self.query_acl('acl')
        # The descriptor in the record, encoded by us: the same bytes, and
        # on a file of ours smbd shows the same ACL.
        sd = ndr_unpack(xattr.NTACL, stored).info.sd
        made = encode('ntacl ' + ndr_pack(sd).hex())
        self.assertEqual(made.hex(), stored.hex())
        self.make('acl-ours', 'security.NTACL', made)
        self.assertEqual(self.query_acl('acl-ours').hex(), shown.hex())

    def test_acls_of_all_versions(self):
        for version in '1', '2', '3', '4':
            with self.subTest(version):
                name = 'acl-' + version
                path = self.make(name, 'security.NTACL',
                                 golden('ntacl-' + version))
                shown = ndr_unpack(security.descriptor, self.query_acl(name))
                self.assertEqual(shown.as_sddl(),
                                 self.dump(path)['security.NTACL']['sddl'])

    def test_acl_we_store_decides_about_access(self):
        """That smbd does not only show it, but goes by it."""
        for ace, allowed in (('(A;;0x001f01ff;;;WD)', True),
                             ('(A;;0x00120080;;;WD)', False)):
            blob = encode('ntacl ' + ndr_pack(descriptor(
                'O:BAG:BAD:P' + ace)).hex())
            name = 'access-%s' % allowed
            self.make(name, 'security.NTACL', blob)
            result = self.smbd.smbclient('stock', 'get %s /dev/null' % name)
            self.assertEqual(result.returncode == 0, allowed, result.stdout)

    def test_stream_it_stores(self):
        result = self.smbd.smbclient('stock', 'put /etc/hostname s; '
                                     'put /etc/hostname s:one')
        self.assertEqual(result.returncode, 0, result.stdout)
        found = self.dump(os.path.join(self.share.path, 's'))
        self.assertEqual(found['user.DosStream.one:$DATA']['size'],
                         os.path.getsize('/etc/hostname'))


if __name__ == '__main__':
    unittest.main()
