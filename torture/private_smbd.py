# A private smbd from the installed packages, for tests and demonstrations.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start and stop a private smbd that leaves the machine's own alone.

Everything the server keeps (smb.conf, passdb, tdb files, log, pid file) lies
in one folder; the system's Samba configuration and accounts are never read
or written:

    with PrivateSmbd('/tmp/x', [Share('t', '/tmp/x/t', owner='nt')]) as smbd:
        print(smbd.smbclient('t', 'ls').stdout)

How it works, and why so:

- *Users* are lines of a private passwd file, which libnss-wrapper (preloaded)
  shows to smbd instead of the system's. smbd runs as root and really becomes
  their uid, so that the kernel checks their access as it would in production.
- *A private mount namespace.* smbd looks for VFS modules in one folder only,
  fixed when it was compiled, and takes no path in `vfs objects`. In the
  namespace a copy of that folder, with the modules under test added, is bound
  over it; the machine's own folder is not touched. The shares are bound to a
  place every user can reach, because a checkout often lies below /root,
  which smbd can no longer enter once it has become the user. Mounts made
  below a share later, from outside, are seen inside where the machine's
  mounts are shared (systemd's default).
- *Stopping* ends the smbd named by the pid file, its children, and whatever
  else still lives in the namespace of that smbd, and nothing else.

It needs root with CAP_SYS_ADMIN, as the extended attribute security.NTACL
does anyway.
"""

import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import time

# Options of a share that does not use ntvfs: stock Samba with full NT
# metadata, as everything is compared with.
STOCK_FULL = {
    'vfs objects': 'acl_xattr streams_xattr',
    'acl_xattr:ignore system acls': 'yes',
    'acl_xattr:default acl style': 'windows',
    'ea support': 'yes',
    'kernel share modes': 'no',
    'posix locking': 'no',
    'kernel oplocks': 'no',
}

# Stock Samba that keeps no NT metadata at all.
STOCK_PLAIN = {
    'vfs objects': '',
    'store dos attributes': 'no',
    'ea support': 'no',
    'map archive': 'no',
    'map hidden': 'no',
    'map system': 'no',
    'map readonly': 'no',
    'kernel share modes': 'no',
    'posix locking': 'no',
    'kernel oplocks': 'no',
}

# A share served through ntvfs; ntvfs:backend = posix is the default.
NTVFS_POSIX = {
    'vfs objects': 'ntvfs',
    'ntvfs:backend': 'posix',
    'ea support': 'yes',
    'kernel share modes': 'no',
    'posix locking': 'no',
    'kernel oplocks': 'no',
}

# Global settings that Samba's own tests ask for.
TORTURE_GLOBAL = {
    'server min protocol': 'NT1',
    'unix extensions': 'no',
}

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULE = os.path.join(TOP, 'bin', 'ntvfs.so')

# Ordinary users' ids: inside Debian's range for them, at its far end.
FIRST_UID = 59001

# What smbd takes for its machine's name. Each of its processes looks that name
# up; where only a DNS server far away could tell, that costs a login seconds.
HOST_NAME = 'ntvfs'

# A unix socket's address has 108 bytes; the longest name that smbd appends
# to its folders is about 28.
LONGEST_FOLDER = 76


class SmbdError(Exception):
    """The server cannot be started or stopped; says what, why, what to do."""


class User:
    """An SMB user, known to this server alone."""

    def __init__(self, name, password=None, uid=None, groups=()):
        self.name = name
        self.password = name if password is None else password
        self.uid = uid
        self.groups = tuple(groups)


class Share:
    """A share: its name, its folder on the machine, its smb.conf options.

    options are those of the share's section, without path. The folder is
    made when it does not exist; owner, a user's name, then owns it. Where an
    option needs the path that smbd sees, write %P.
    """

    def __init__(self, name, path, options=None, owner=None, mode=0o755):
        self.name = name
        self.path = os.path.abspath(path)
        self.options = dict(STOCK_FULL if options is None else options)
        self.owner = owner
        self.mode = mode


def free_port():
    """A TCP port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def port_is_taken(port, address='127.0.0.1'):
    """Why nothing can listen there, or None when it can."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((address, port))
        except OSError as e:
            return e.strerror
    return None


def modules_folder():
    """The folder of VFS modules that the installed smbd was built with."""
    build = subprocess.run(['smbd', '-b'], stdout=subprocess.PIPE, text=True,
                           check=True, env=system_environment())
    for line in build.stdout.splitlines():
        if line.strip().startswith('MODULESDIR:'):
            return os.path.join(line.split(':', 1)[1].strip(), 'vfs')
    raise SmbdError('smbd -b names no MODULESDIR; is this Samba\'s smbd?')


def system_environment():
    """Our environment with the system's programs first in PATH."""
    environment = dict(os.environ)
    environment['PATH'] = ('/usr/sbin:/usr/bin:/sbin:/bin:' +
                           environment.get('PATH', ''))
    return environment


def below(path, folder):
    return path == folder or path.startswith(folder.rstrip('/') + '/')


class PrivateSmbd:
    """One private smbd.

    folder          everything that the server keeps; made when missing
    shares          a list of Share
    users           a list of User; the default is one, nt with password nt
    port            the TCP port; None: a free one, chosen at start()
    address         the address to listen on; 0.0.0.0 means all
    global_options  added to (or instead of) the settings in [global]
    modules         module files (*.so) added to smbd's own; default: the
                    built bin/ntvfs.so, when some share uses ntvfs
    log_level       smbd's log level
    preload         libraries to preload into smbd (libasan.so, for example)
    wrapper         a command to run smbd under, such as ['strace', '-f']
    environment     added to smbd's environment
    wait            seconds that smbd gets to come up
    """

    def __init__(self, folder, shares, users=None, port=None,
                 address='127.0.0.1', global_options=None, modules=None,
                 log_level='1', preload=(), wrapper=(), environment=None,
                 wait=30):
        self.folder = os.path.abspath(folder)
        self.shares = list(shares)
        self.users = [User('nt')] if users is None else list(users)
        self.port = port
        self.address = address
        self.global_options = dict(global_options or {})
        self.log_level = str(log_level)
        self.preload = list(preload)
        self.wrapper = list(wrapper)
        self.extra_environment = dict(environment or {})
        self.wait = wait
        if modules is None:
            modules = []
            for share in self.shares:
                objects = share.options.get('vfs objects', '').split()
                if 'ntvfs' in objects and MODULE not in modules:
                    modules.append(MODULE)
        self.modules = [os.path.abspath(m) for m in modules]
        self.process = None
        for number, user in enumerate(self.users):
            if user.uid is None:
                user.uid = FIRST_UID + number

    # What lies in the folder.

    def file(self, *names):
        return os.path.join(self.folder, *names)

    @property
    def conf(self):
        """The server's smb.conf."""
        return self.file('smb.conf')

    @property
    def client_conf(self):
        """An smb.conf for clients: nothing of the machine's, NT1 allowed."""
        return self.file('client.conf')

    @property
    def log(self):
        """The log of all smbd processes."""
        return self.file('log', 'smbd.log')

    # What clients need.

    def user(self, name=None):
        """The user of that name; without one, the first user."""
        for user in self.users:
            if name is None or user.name == name:
                return user
        raise SmbdError('no user %s on this server' % name)

    def share(self, name):
        for share in self.shares:
            if share.name == name:
                return share
        raise SmbdError('no share %s on this server' % name)

    def unc(self, share):
        return '//%s/%s' % (self.client_address(), share)

    def client_address(self):
        """Where a client on this machine connects."""
        return '127.0.0.1' if self.address == '0.0.0.0' else self.address

    def credentials(self, user=None):
        """NAME%PASSWORD, as Samba's tools take it."""
        user = self.user(user)
        return '%s%%%s' % (user.name, user.password)

    def client_environment(self):
        """For clients: Samba's tools then ignore the system's smb.conf."""
        environment = system_environment()
        environment['SMB_CONF_PATH'] = self.client_conf
        return environment

    def smbclient(self, share, commands, user=None, options=(), timeout=60):
        """Run smbclient's commands; the finished process with its output."""
        return subprocess.run(
            ['smbclient', self.unc(share), '-p', str(self.port),
             '-U', self.credentials(user), *options, '-c', commands],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self.client_environment(), timeout=timeout)

    def command(self, program, *arguments, **keywords):
        """Run a tool that works on the server's own files.

        For pdbedit, smbstatus, smbcontrol, net, samba-tool, ...; it sees the
        server's configuration, users and mounts.
        """
        argv = [program, *arguments]
        pid = self.pid()
        if pid is not None:
            # Its root as well as its mounts: this may run in a chroot.
            argv = ['nsenter', '--target', str(pid), '--mount', '--root',
                    '--wd', '--', *argv]
        keywords.setdefault('stdout', subprocess.PIPE)
        keywords.setdefault('stderr', subprocess.STDOUT)
        keywords.setdefault('timeout', 60)
        return subprocess.run(argv, text=True,
                              env=self.server_environment(), **keywords)

    def server_environment(self):
        environment = system_environment()
        environment.update({
            'LD_PRELOAD': ' '.join(self.preload + ['libnss_wrapper.so']),
            'NSS_WRAPPER_PASSWD': self.file('passwd'),
            'NSS_WRAPPER_GROUP': self.file('group'),
            'NSS_WRAPPER_HOSTS': self.file('hosts'),
            'NSS_WRAPPER_HOSTNAME': HOST_NAME,
            'SMB_CONF_PATH': self.conf,
        })
        if any('asan' in os.path.basename(library)
               for library in self.preload):
            # Samba's programs free little at their end.
            environment.setdefault('ASAN_OPTIONS', 'detect_leaks=0:'
                                   'detect_odr_violation=0')
        environment.update(self.extra_environment)
        return environment

    # Processes.

    def pid(self):
        """The main smbd's process id, or None when it does not run."""
        try:
            with open(self.file('pid', 'smbd.pid')) as f:
                pid = int(f.read())
        except (OSError, ValueError):
            return None
        return pid if self._is_ours(pid) else None

    def pids(self):
        """All processes of this server, the main smbd's first."""
        pid = self.pid()
        if pid is None:
            return []
        return [pid] + [p for p in self._in_namespace(self._namespace(pid))
                        if p != pid]

    def _is_ours(self, pid):
        """A number in an old pid file may be anybody's process by now."""
        try:
            with open('/proc/%d/cmdline' % pid, 'rb') as f:
                return os.fsencode(self.conf) in f.read().split(b'\0')
        except OSError:
            return False

    @staticmethod
    def _namespace(pid):
        try:
            return os.readlink('/proc/%s/ns/mnt' % pid)
        except OSError:
            return None

    def _in_namespace(self, namespace):
        if namespace is None or namespace == self._namespace('self'):
            return []
        return [int(p) for p in os.listdir('/proc')
                if p.isdigit() and self._namespace(p) == namespace]

    # Start and stop.

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Write the configuration and start smbd; returns when it answers."""
        self._check()
        self._write_files()
        self._add_users()
        self._launch()

    def stop(self):
        """Stop smbd and all its children; nothing happens if none runs."""
        pid = self.pid()
        if pid is not None:
            namespace = self._namespace(pid)
            # The main smbd ends its children; helpers that it started
            # (samba-dcerpcd, rpcd_*) would outlive it.
            self._signal([pid], signal.SIGTERM)
            self._await_end(lambda: self._is_ours(pid), 10)
            for number in (signal.SIGTERM, signal.SIGKILL):
                self._signal(self._in_namespace(namespace), number)
                self._await_end(lambda: self._in_namespace(namespace), 5)
        if self.process is not None:
            self.process.wait()
            self.process = None

    def restart(self):
        """Stop and start again with the same files: nothing is reset."""
        self.stop()
        self._write_files()
        self._launch()

    @staticmethod
    def _signal(pids, number):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def _await_end(self, is_there, seconds):
        end = time.monotonic() + seconds
        while is_there() and time.monotonic() < end:
            if self.process is not None:
                self.process.poll()
            time.sleep(0.02)

    def _check(self):
        if os.geteuid() != 0:
            raise SmbdError('a private smbd has to change to its users\' '
                            'ids and can do so only as root; '
                            'run this as root')
        if len(self.folder) > LONGEST_FOLDER:
            raise SmbdError('the folder %s has %d characters; smbd makes '
                            'sockets in it, whose names may not be longer '
                            'than 107: choose one of at most %d' %
                            (self.folder, len(self.folder), LONGEST_FOLDER))
        path = system_environment()['PATH']
        for program, package in (('smbd', 'samba'),
                                 ('pdbedit', 'samba-common-bin'),
                                 ('smbclient', 'smbclient'),
                                 ('unshare', 'util-linux')):
            if shutil.which(program, path=path) is None:
                raise SmbdError('%s is not there; install the package %s' %
                                (program, package))
        for module in self.modules:
            if not os.path.exists(module):
                raise SmbdError('the module %s is not there; build it with '
                                './waf configure && ./waf build' % module)
        pid = self.pid()
        if pid is not None:
            raise SmbdError('the smbd of %s runs already, process %d' %
                            (self.folder, pid))

    def _mount_point(self):
        """A folder that every Debian has and that hides nothing of ours."""
        ours = [self.folder, *self.modules, *(s.path for s in self.shares)]
        ours = [os.path.realpath(path) for path in ours]
        for folder in ('/mnt', '/media', '/srv'):
            if os.path.isdir(folder) and not os.path.islink(folder) and \
                    not any(below(path, folder) for path in ours):
                return folder
        raise SmbdError('no place for the shares in the private namespace: '
                        'each of /mnt, /media and /srv is missing or holds '
                        'a folder of the server')

    def _write_files(self):
        for name in ('private', 'state', 'cache', 'lock', 'log', 'pid',
                     'ncalrpc', 'winbindd'):
            os.makedirs(self.file(name), exist_ok=True)
        os.chmod(self.file('private'), 0o700)
        for share in self.shares:
            if os.path.isdir(share.path):
                continue
            os.makedirs(share.path)
            os.chmod(share.path, share.mode)
            if share.owner is not None:
                uid = self.user(share.owner).uid
                os.chown(share.path, uid, uid)
        if self.port is None:
            self.port = free_port()
        self._write('passwd', self._passwd())
        self._write('group', self._group())
        self._write('hosts', '127.0.0.1 localhost %s\n' % HOST_NAME)
        self._write('smb.conf', self._smb_conf())
        self._write('client.conf', self._client_conf())
        self._write('start', self._start_script(), mode=0o755)

    def _write(self, name, text, mode=0o644):
        with open(self.file(name), 'w') as f:
            f.write(text)
        os.chmod(self.file(name), mode)

    def _passwd(self):
        lines = ['root:x:0:0:root:/:/bin/false']
        nobody = pwd.getpwnam('nobody')
        lines.append('nobody:x:%d:%d:nobody:/:/bin/false' %
                     (nobody.pw_uid, nobody.pw_gid))
        for user in self.users:
            lines.append('%s:x:%d:%d::/:/bin/false' %
                         (user.name, user.uid, user.uid))
        return '\n'.join(lines) + '\n'

    def _group(self):
        nobody = pwd.getpwnam('nobody')
        lines = ['root:x:0:', 'nogroup:x:%d:' % nobody.pw_gid]
        members = {}
        for user in self.users:
            lines.append('%s:x:%d:' % (user.name, user.uid))
            for group in user.groups:
                members.setdefault(group, []).append(user.name)
        # Beyond the users' own groups, whose numbers are their uids.
        first = max((user.uid for user in self.users), default=0) + 1
        for number, (group, names) in enumerate(sorted(members.items())):
            lines.append('%s:x:%d:%s' % (group, first + number,
                                         ','.join(names)))
        return '\n'.join(lines) + '\n'

    def _smb_conf(self):
        settings = {
            'server role': 'standalone server',
            'netbios name': HOST_NAME,
            'workgroup': 'NTVFS',
            'server string': 'private smbd',
            'smb ports': self.port,
            'disable netbios': 'yes',
            'private dir': self.file('private'),
            'passdb backend': 'tdbsam:' + self.file('private', 'passdb.tdb'),
            'state directory': self.file('state'),
            'cache directory': self.file('cache'),
            'lock directory': self._lock_folder(),
            'pid directory': self.file('pid'),
            'ncalrpc dir': self.file('ncalrpc'),
            'winbindd socket directory': self.file('winbindd'),
            'log file': self.log,
            'max log size': '0',
            'log level': self.log_level,
            'load printers': 'no',
            'printcap name': '/dev/null',
            'disable spoolss': 'yes',
            'usershare max shares': '0',
            'map to guest': 'never',
        }
        if self.address != '0.0.0.0':
            settings['bind interfaces only'] = 'yes'
            settings['interfaces'] = self.address + '/32'
        settings.update(self.global_options)
        text = '[global]\n' + self._section(settings)
        for share in self.shares:
            options = {'path': self._inner_path(share), 'read only': 'no'}
            options.update(share.options)
            text += '\n[%s]\n' % share.name + self._section(options)
        return text

    @staticmethod
    def _section(settings):
        return ''.join('\t%s = %s\n' % item for item in settings.items())

    def _client_conf(self):
        return '[global]\n' + self._section({
            'netbios name': 'CLIENT',
            'workgroup': 'NTVFS',
            'client min protocol': 'NT1',
            'name resolve order': 'host',
            'private dir': self.file('private'),
            'state directory': self.file('state'),
            'cache directory': self.file('cache'),
            'lock directory': self.file('lock'),
        })

    def _inner_path(self, share):
        """Where smbd sees a share's folder."""
        return os.path.join(self._mount_point(), 'share', share.name)

    def _lock_folder(self):
        """smbd's lock directory, in the namespace's tmpfs.

        Not below our folder: smbd, as the user, looks there whether another
        smbd still lives. In a checkout below /root it would see nobody, take
        others' locks for left over, and panic when two open one file.
        """
        return os.path.join(self._mount_point(), 'lock')

    def _start_script(self):
        """What runs in the new namespace; for reading, too."""
        quote = shlex.quote
        mount_point = self._mount_point()
        folder = modules_folder()
        copy = os.path.join(mount_point, 'vfs')
        lines = [
            '#!/bin/sh',
            '# Written by torture/private_smbd.py; runs in a mount namespace',
            '# of its own (unshare --mount).',
            'set -e',
            'mount -t tmpfs -o mode=755 private-smbd %s' % mount_point,
            'mkdir %s %s' % (quote(copy), quote(self._lock_folder())),
            'cp -a %s/. %s/' % (quote(folder), quote(copy)),
        ]
        for module in self.modules:
            lines.append('cp -L %s %s/' % (quote(module), quote(copy)))
        lines.append('mount --bind %s %s' % (quote(copy), quote(folder)))
        for share in self.shares:
            inner = quote(self._inner_path(share))
            lines.append('mkdir -p %s' % inner)
            lines.append('mount --rbind %s %s' % (quote(share.path), inner))
        lines.append('cd /')
        for name in sorted(self._added_environment()):
            lines.append('export %s=%s' %
                         (name, quote(self._added_environment()[name])))
        command = self.wrapper + ['smbd', '--foreground',
                                  '--configfile', self.conf]
        lines.append('exec ' + ' '.join(quote(word) for word in command))
        return '\n'.join(lines) + '\n'

    def _added_environment(self):
        added = self.server_environment()
        for name, value in os.environ.items():
            if added.get(name) == value:
                del added[name]
        return added

    def _add_users(self):
        for user in self.users:
            # The lock directory is there once smbd runs; here is another.
            result = self.command('pdbedit', '-s', self.conf,
                                  '--option=lock directory=' +
                                  self.file('lock'), '--create',
                                  '--password-from-stdin', '-u', user.name,
                                  input='%s\n%s\n' % (user.password,
                                                      user.password))
            if result.returncode != 0:
                raise SmbdError('pdbedit could not add the user %s:\n%s' %
                                (user.name, result.stdout))

    def _launch(self):
        taken = port_is_taken(self.port, self.address)
        if taken:
            raise SmbdError('cannot listen on port %d of %s: %s; stop what '
                            'uses it, or choose another port' %
                            (self.port, self.address, taken))
        for name in (self.log, self.file('pid', 'smbd.pid')):
            if os.path.exists(name):
                os.unlink(name)
        with open(self.file('log', 'start.log'), 'w') as output:
            self.process = subprocess.Popen(
                ['unshare', '--mount', '--propagation', 'slave', '--',
                 self.file('start')],
                stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env=system_environment())
        end = time.monotonic() + self.wait
        while not self._answers():
            if self.process.poll() is not None:
                code = self.process.returncode
                self.process = None
                raise SmbdError('smbd ended at once (exit status %d):\n%s' %
                                (code, self.log_tail()))
            if time.monotonic() > end:
                tail = self.log_tail()
                self.stop()
                if self.process is not None:
                    self.process.kill()
                    self.process.wait()
                    self.process = None
                raise SmbdError('smbd does not answer on port %d after %d '
                                'seconds:\n%s' % (self.port, self.wait, tail))
            time.sleep(0.02)

    def _answers(self):
        if self.pid() is None:
            return False
        with socket.socket() as s:
            s.settimeout(1)
            return s.connect_ex((self.client_address(), self.port)) == 0

    def log_tail(self, lines=25):
        """The end of what smbd said, for a person."""
        text = []
        for name in (self.file('log', 'start.log'), self.log):
            try:
                with open(name, errors='replace') as f:
                    content = f.read().splitlines()[-lines:]
            except OSError:
                continue
            if content:
                text += ['--- end of %s' % name] + content
        return '\n'.join(text) or '(smbd wrote nothing)'

    def panics(self):
        """The log's lines that tell of a crash of some smbd process."""
        signs = ('INTERNAL ERROR', 'PANIC', 'AddressSanitizer',
                 'runtime error:')
        found = []
        for name in (self.file('log', 'start.log'), self.log):
            try:
                with open(name, errors='replace') as f:
                    found += [line.rstrip() for line in f
                              if any(sign in line for sign in signs)]
            except OSError:
                pass
        return found
