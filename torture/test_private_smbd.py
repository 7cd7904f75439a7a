#!/usr/bin/python3
# Is the private smbd private, and is it gone when it is stopped?
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import shutil
import subprocess
import tempfile
import unittest

import private_smbd
from private_smbd import PrivateSmbd, Share, SmbdError, User


class PrivateSmbdTest(unittest.TestCase):
    """Stock shares: what is tested here is the library, not the module."""

    @classmethod
    def setUpClass(cls):
        # The top of it is 0700, as /root is: the shares must be served even
        # so.
        cls.temporary = tempfile.TemporaryDirectory(prefix='smbd')
        folder = cls.temporary.name
        cls.module = 'added_module.so'
        module = os.path.join(folder, cls.module)
        shutil.copy(os.path.join(private_smbd.modules_folder(),
                                 'acl_xattr.so'), module)
        cls.share = Share('own', os.path.join(folder, 'own'), owner='nt')
        cls.smbd = PrivateSmbd(
            os.path.join(folder, 's'),
            [cls.share,
             Share('plain', os.path.join(folder, 'plain'),
                   private_smbd.STOCK_PLAIN, owner='nt')],
            users=[User('nt', groups=['team']), User('other', 'secret')],
            modules=[module])
        cls.smbd.start()

    @classmethod
    def tearDownClass(cls):
        cls.smbd.stop()
        cls.temporary.cleanup()

    def smbclient(self, share, commands, **keywords):
        result = self.smbd.smbclient(share, commands, **keywords)
        return result.returncode, result.stdout

    def test_files_belong_to_the_user(self):
        status, output = self.smbclient('own', 'put /etc/hostname a; mkdir d')
        self.assertEqual(status, 0, output)
        for name in ('a', 'd'):
            found = os.stat(os.path.join(self.share.path, name))
            self.assertEqual((found.st_uid, found.st_gid),
                             (private_smbd.FIRST_UID, private_smbd.FIRST_UID))

    def test_another_user_is_kept_out(self):
        status, output = self.smbclient('own', 'put /etc/hostname b',
                                        user='other')
        self.assertNotEqual(status, 0)
        self.assertIn('NT_STATUS_ACCESS_DENIED', output)

    def test_system_users_are_unknown(self):
        result = self.smbd.command('getent', 'passwd', 'daemon')
        self.assertNotEqual(result.returncode, 0)
        result = self.smbd.command('id', 'nt')
        self.assertIn('(team)', result.stdout)

    def test_tools_see_the_server(self):
        status, _ = self.smbclient('own', 'ls')
        self.assertEqual(status, 0)
        result = self.smbd.command('pdbedit', '-s', self.smbd.conf, '-L')
        self.assertEqual(
            [line.split(':')[0] for line in result.stdout.splitlines()],
            ['nt', 'other'])

    def test_added_module_is_seen_by_smbd_alone(self):
        inside = self.smbd.command('ls', private_smbd.modules_folder())
        self.assertIn('acl_xattr.so', inside.stdout.split())
        self.assertIn(self.module, inside.stdout.split())
        self.assertNotIn(self.module,
                         os.listdir(private_smbd.modules_folder()))

    def test_start_twice(self):
        with self.assertRaisesRegex(SmbdError, 'runs already'):
            PrivateSmbd(self.smbd.folder, []).start()

    def test_port_in_use(self):
        other = PrivateSmbd(os.path.join(self.temporary.name, 'o'), [],
                            port=self.smbd.port)
        with self.assertRaisesRegex(SmbdError, 'cannot listen on port'):
            other.start()
        other.stop()
        self.assertEqual(self.smbclient('own', 'ls')[0], 0)

    def test_does_not_come_up(self):
        broken = PrivateSmbd(os.path.join(self.temporary.name, 'b'), [],
                             users=[], wait=5,
                             global_options={'lock directory': '/proc/no'})
        with self.assertRaisesRegex(SmbdError, 'smbd ended|not answer'):
            broken.start()
        self.assertEqual(broken.pids(), [])

    def test_folder_too_long_for_sockets(self):
        with self.assertRaisesRegex(SmbdError, 'characters'):
            PrivateSmbd('/tmp/' + 'x' * 90, []).start()

    def test_missing_module(self):
        with self.assertRaisesRegex(SmbdError, 'is not there'):
            PrivateSmbd(os.path.join(self.temporary.name, 'm'), [],
                        modules=['/nonexistent/ntvfs.so']).start()


def name_of(pid):
    with open('/proc/%d/cmdline' % pid) as f:
        return f.read().split('\0')[0]


class StopTest(unittest.TestCase):

    def test_nothing_stays(self):
        with tempfile.TemporaryDirectory(prefix='smbd') as folder:
            share = Share('s', os.path.join(folder, 'share'), owner='nt')
            smbd = PrivateSmbd(os.path.join(folder, 's'), [share])
            with smbd:
                smbd.smbclient('s', 'put /etc/hostname kept')
                first = smbd.pid()
                smbd.restart()
                self.assertNotEqual(smbd.pid(), first)
                listing = smbd.smbclient('s', 'ls').stdout
                self.assertIn('kept', listing)
                # Listing the shares starts smbd's helpers for remote calls.
                subprocess.run(['smbclient', '-L', '127.0.0.1', '-p',
                                str(smbd.port), '-U', smbd.credentials()],
                               env=smbd.client_environment(), check=True,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
                namespace = os.readlink('/proc/%d/ns/mnt' % smbd.pid())
                helpers = [pid for pid in smbd.pids()
                           if 'samba-dcerpcd' in name_of(pid)]
                self.assertNotEqual(helpers, [])
            self.assertIsNone(smbd.pid())
            self.assertEqual(smbd._in_namespace(namespace), [])
            self.assertFalse(private_smbd.port_is_taken(smbd.port))

    def test_a_stale_pid_file_names_a_stranger(self):
        with tempfile.TemporaryDirectory(prefix='smbd') as folder:
            smbd = PrivateSmbd(folder, [])
            os.makedirs(smbd.file('pid'))
            with open(smbd.file('pid', 'smbd.pid'), 'w') as f:
                f.write('%d\n' % os.getpid())
            self.assertIsNone(smbd.pid())
            smbd.stop()  # must not end this process


if __name__ == '__main__':
    unittest.main()
