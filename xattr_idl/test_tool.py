#!/usr/bin/python3
# Does ntvfs-xattr show all that is kept about a file, and what is bad?
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import errno
import json
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
# The one of a --sanitize build is as good.
TOOL = os.environ.get('NTVFS_XATTR') or os.path.join(TOP, 'bin',
                                                     'ntvfs-xattr')
BUILD = os.path.join(TOP, 'build')


def golden(name):
    with open(os.path.join(HERE, 'golden', name + '.hex')) as f:
        return bytes.fromhex(f.read())


class ToolTest(unittest.TestCase):
    def setUp(self):
        # Not in /tmp, which is often a tmpfs without user xattrs.
        folder = tempfile.TemporaryDirectory(dir=BUILD)
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = self.make('file', b'hello')

    def make(self, name, data=b''):
        path = os.path.join(self.folder, name)
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def set(self, path=None, **xattrs):
        """name=value; a double underscore in a name stands for a dot."""
        for name, value in xattrs.items():
            self.set_xattr(name.replace('__', '.'), value, path)

    def set_xattr(self, name, value, path=None):
        try:
            os.setxattr(path or self.path, name, value)
        except OSError as error:
            if error.errno in (errno.ENOTSUP, errno.EPERM):
                self.skipTest('%s cannot be set in %s: %s' %
                              (name, self.folder, error.strerror))
            raise

    def run_tool(self, *arguments, status=0):
        done = subprocess.run([TOOL] + list(arguments), capture_output=True)
        self.assertEqual(done.returncode, status,
                         repr(done.stdout + done.stderr))
        return done

    def dump(self, *paths, status=0):
        return self.run_tool('dump', *(paths or (self.path,)),
                             status=status).stdout.decode()

    def json(self, *paths, status=0):
        done = self.run_tool('dump', '--json', *(paths or (self.path,)),
                             status=status)
        return json.loads(done.stdout)

    def xattrs(self, status=0):
        found, = self.json(status=status)
        return {value['xattr']: value for value in found['xattrs']}

    def test_help(self):
        for option in ('-h', '--help'):
            done = self.run_tool(option)
            self.assertIn(b'Usage: ntvfs-xattr dump', done.stdout)
            self.assertEqual(done.stderr, b'')

    def test_wrong_usage(self):
        for arguments in ([], ['dump'], ['dump', '--json'], ['show', 'x'],
                          ['--what', 'dump', 'x']):
            done = self.run_tool(*arguments, status=2)
            self.assertEqual(done.stdout, b'')
            self.assertIn(b'ntvfs-xattr', done.stderr)

    def test_nothing(self):
        text = self.dump()
        self.assertIn('file, 5 bytes', text)
        self.assertIn('nothing is kept', text)
        self.assertEqual(self.xattrs(), {})

    def test_missing_path_does_not_stop_the_others(self):
        missing = os.path.join(self.folder, 'missing')
        done = self.run_tool('dump', missing, self.path, status=2)
        self.assertIn(b'"%s": file' % self.path.encode(), done.stdout)
        self.assertIn(missing.encode(), done.stderr)
        self.assertIn(b'No such file', done.stderr)
        self.assertEqual([found['path'] for found in
                          self.json(missing, self.path, status=2)],
                         [self.path])

    def test_directory(self):
        self.assertIn('directory', self.dump(self.folder))

    def test_times_of_the_file(self):
        os.utime(self.path, ns=(1101297600123456789, 1101297601000000100))
        found, = self.json()
        self.assertEqual(found['access_time'],
                         '2004-11-24T12:00:00.1234567Z')
        self.assertEqual(found['write_time'], '2004-11-24T12:00:01.0000001Z')
        self.assertEqual(found['write_time_nt'], 127457712010000001)
        self.assertIn('write time: 2004-11-24T12:00:01.0000001Z',
                      self.dump())

    def test_dos_attributes(self):
        for name in ('dosattrib-text', 'dosattrib-1', 'dosattrib-2',
                     'dosattrib-3-ntvfs', 'dosattrib-4', 'dosattrib-5'):
            with self.subTest(name):
                self.set(user__DOSATTRIB=golden(name))
                with open(os.path.join(HERE, 'golden', name + '.txt')) as f:
                    for line in f:
                        self.assertIn('    ' + line, self.dump())
        self.set(user__DOSATTRIB=golden('dosattrib-3-ntvfs'))
        record = self.xattrs()['user.DOSATTRIB']
        self.assertEqual(record['version'], 3)
        self.assertEqual(record['attributes'], 0x22)
        self.assertEqual(record['attribute_names'], 'HIDDEN|ARCHIVE')
        self.assertEqual(record['create_time_nt'], 127457712001234567)
        self.assertEqual(record['change_time_nt'], 127457712001234574)

    def test_what_samba4_left(self):
        self.set(user__DosAttrib=golden('samba4-1'),
                 user__DosStreams=golden('streams-two'),
                 user__DosEAs=golden('eas-two'))
        self.set_xattr('user.DosStream.Zone.Identifier:$DATA', b'no NUL')
        text = self.dump()
        self.assertIn("DOS attributes of Samba 4's own file server", text)
        self.assertIn('"Zone.Identifier:$DATA" size 26', text)
        self.assertIn('stream "Zone.Identifier:$DATA" 6 bytes', text)
        self.assertIn('"FOO" 3 bytes "bar"', text)
        self.set(user__DosStreams=golden('streams-samba4'))
        os.removexattr(self.path, 'user.DosStream.Zone.Identifier:$DATA')
        self.set_xattr('user.DosStream.Zone.Identifier', b'no NUL')
        self.assertIn('stream "Zone.Identifier" 6 bytes', self.dump())
        self.set(user__DosStreams=golden('streams-two'))
        found = self.xattrs()
        self.assertEqual(found['user.DosAttrib']['size_then'], 12345)
        self.assertEqual(found['user.DosEAs']['eas'],
                         [{'name': 'FOO', 'value': b'bar'.hex()},
                          {'name': 'EMPTY', 'value': ''}])
        self.assertEqual(found['user.DosStreams']['streams'][1]['name'],
                         '\u00fcber:$DATA')

    def test_nt_acl(self):
        for version in '1', '2', '3', '4':
            self.set(security__NTACL=golden('ntacl-' + version))
            text = self.dump()
            self.assertIn('record: version ' + version, text)
            self.assertIn('SDDL: O:S-1-5-21-1004336348', text)
            self.assertIn('allow S-1-1-0 0x001301bf MODIFY '
                          '(OBJECT_INHERIT|CONTAINER_INHERIT|INHERITED)',
                          text)
            record = self.xattrs()['security.NTACL']
            self.assertEqual(record['version'], int(version))
            self.assertIn('(A;OICIID;0x001301bf;;;WD)', record['sddl'])

    def test_streams_and_eas(self):
        self.set_xattr('user.DosStream.one:$DATA', b'12345\0')
        self.set_xattr('user.DosStream.empty:$DATA', b'\0')
        self.set(user__COMMENT=b'bar', user__BINARY=b'\0\x01\xff',
                 user__SAMBA_PAI=b'\x02')
        text = self.dump()
        self.assertIn('stream "one:$DATA" 5 bytes', text)
        self.assertIn('stream "empty:$DATA" 0 bytes', text)
        self.assertIn('EA "COMMENT" 3 bytes "bar"', text)
        self.assertIn('EA "BINARY" 3 bytes 0001ff', text)
        self.assertNotIn('EA "SAMBA_PAI"', text)
        found = self.xattrs()
        self.assertEqual(found['user.DosStream.one:$DATA']['size'], 5)
        self.assertEqual(found['user.BINARY']['value'], '0001ff')

    def test_stream_without_nul(self):
        self.set_xattr('user.DosStream.one:$DATA', b'12345')
        self.assertIn('BAD "user.DosStream.one:$DATA" (5 bytes)',
                      self.dump(status=1))

    def test_stream_without_nul_and_type(self):
        """Samba 4's own file server left it, and a list of other names."""
        self.set_xattr('user.DosStream.one', b'12345')
        self.set_xattr('user.DosStream.two', b'12345\0')
        shown = self.xattrs()
        self.assertEqual(shown['user.DosStream.one']['size'], 5)
        self.assertEqual(shown['user.DosStream.two']['size'], 5)

    def test_stream_file(self):
        name = 'user.ntvfs.str.large:$DATA'
        identity = bytes(range(0xa0, 0xb0))
        self.set_xattr(name, b'NTSF\1\0\0\0' + identity)
        text = self.dump(status=1)
        self.assertIn('BAD "%s"' % name, text)
        self.assertIn('streams/a0/' + identity.hex(), text)
        folder = os.path.join(self.folder, '.ntvfs', 'streams', 'a0')
        os.makedirs(folder)
        with open(os.path.join(folder, identity.hex() +
                               '-%016x-%016x' % (4711, 1)), 'wb') as f:
            f.truncate(100000)
        self.assertIn('stream "large:$DATA" 100000 bytes in', self.dump())
        self.assertEqual(self.xattrs()[name]['size'], 100000)
        self.set_xattr(name, b'NTSF\2\0\0\0' + identity)
        self.assertIn('does not name a stream file', self.dump(status=1))

    def test_bad_values_are_named_and_explained(self):
        self.set(user__DOSATTRIB=golden('dosattrib-5')[:-3],
                 security__NTACL=b'\x09\0\x09\0',
                 user__DosEAs=golden('eas-two') + b'x',
                 user__FINE=b'1')
        text = self.dump(status=1)
        self.assertIn('BAD "user.DOSATTRIB" (21 bytes): version 5: ends at '
                      'byte 21, in a member that begins at byte 16', text)
        self.assertIn('it holds ' + golden('dosattrib-5')[:-3].hex(), text)
        self.assertIn('BAD "security.NTACL" (4 bytes): version 9 is unknown',
                      text)
        self.assertIn('1 more follow', text)
        self.assertIn('EA "FINE"', text)
        found, = self.json(status=1)
        self.assertEqual(found['bad_count'], 3)
        bad = self.xattrs(status=1)['user.DOSATTRIB']
        self.assertEqual(bytes.fromhex(bad['raw']),
                         golden('dosattrib-5')[:-3])
        self.assertIn('version 5', bad['bad'])
        # A bad file does not hide behind a good one, nor the other way.
        good = self.make('good')
        self.dump(self.path, good, status=1)
        self.dump(good, self.path, status=1)

    def test_share_with_a_damaged_tdb(self):
        """One that is not shows in torture/test_smb_overflow.py."""
        os.mkdir(os.path.join(self.folder, '.ntvfs'))
        for name in ('xattr.tdb', 'overflow.tdb'):
            tdb = self.make('.ntvfs/' + name, b'no tdb')
            done = self.run_tool('dump', self.path, status=2)
            self.assertIn(tdb.encode(), done.stderr)
            os.unlink(tdb)
        self.dump()

    def test_names_that_terminals_and_json_mind(self):
        name = os.fsencode(self.folder) + b'/\x1b[31m"\\\xff\n\xc3\xa4'
        with open(name, 'wb'):
            pass
        done = self.run_tool('dump', os.fsdecode(name))
        self.assertNotIn(b'\x1b', done.stdout)
        self.assertIn(b'\\x1b[31m\\"\\\\', done.stdout)
        found, = self.json(os.fsdecode(name))
        self.assertEqual(os.fsencode(found['path']), name)

    def test_output_that_cannot_be_written(self):
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([TOOL, 'dump', self.path], stdout=full,
                                  stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b'No space left', done.stderr)


if __name__ == '__main__':
    unittest.main()
