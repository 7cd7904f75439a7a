# Which smb.conf options make which backend, and which Samba this machine has.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the test programs of this folder have in common about backends."""

import os
import re
import shutil
import subprocess
import tempfile

import private_smbd

BACKENDS = ('stock', 'posix', 'native')

TOP = private_smbd.TOP
EXPECTED = os.path.join(TOP, 'torture', 'expected')


class Refused(Exception):
    """A request that cannot be served here; says why."""


def share_options(backend):
    """The options of a share on that backend; a copy."""
    if backend == 'stock':
        return dict(private_smbd.STOCK_FULL)
    if backend == 'posix':
        return dict(private_smbd.NTVFS_POSIX)
    options = getattr(private_smbd, 'NTVFS_NATIVE', None)
    if backend == 'native' and options is not None:
        return dict(options)
    raise Refused('the backend %s is not served by the module yet; there '
                  'are: stock, posix' % backend)


def samba_version():
    """The installed smbd's version as the expected lists name it: 4.17."""
    try:
        out = subprocess.run(['smbd', '-V'], stdout=subprocess.PIPE,
                             text=True, check=True,
                             env=private_smbd.system_environment()).stdout
    except (OSError, subprocess.CalledProcessError) as e:
        raise Refused('smbd cannot be run (%s); install the package samba' %
                      e)
    found = re.search(r'(\d+)\.(\d+)', out)
    if found is None:
        raise Refused('smbd -V does not tell a version: %r' % out)
    return '%s.%s' % found.groups()


def check_version(wanted):
    """The version to test with; refuses any but the installed one."""
    here = samba_version()
    if wanted is None or wanted == here or wanted.startswith(here + '.'):
        return here
    raise Refused('Samba %s is not installed here, only %s; run this on a '
                  'machine (or in a debootstrap root) that has it' %
                  (wanted, here))


def expected_file(backend, version):
    return os.path.join(EXPECTED, '%s-%s.tsv' % (backend, version))


class Folder:
    """A folder for one run, that every user can reach; removed at the end.

    It is made below /var/tmp, which is on a real disk: /tmp may be a tmpfs.
    """

    def __init__(self, parent=None, keep=False):
        self.keep = keep
        self.path = tempfile.mkdtemp(prefix='ntvfs-torture-',
                                     dir=parent or '/var/tmp')
        os.chmod(self.path, 0o755)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        if self.keep:
            print('kept: ' + self.path)
        else:
            shutil.rmtree(self.path, ignore_errors=True)
