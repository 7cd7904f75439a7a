# The runner of the tests over SMB (torture/test_smb_*.py).
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests over SMB: one private smbd, a folder of its own for each test.

A test module has classes derived from SmbTest and ends in

    if __name__ == '__main__':
        smb_test.main()

A test's name carries the number of the field case that it decides
(test_B07_...). It asserts the right value, whatever the backend: where a
backend with some Samba version cannot give it, the list
torture/expected/own-BACKEND-VERSION.tsv says so and why, and the test then
counts as skipped with that reason. A listed test that passes is reported, so
that the list shrinks, unless its reason ends in `(now and then)`.

torture/smb-tests runs all modules on one server.
"""

import argparse
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import traceback
import unittest

import backends
import private_smbd
import smb2_client as smb
from smb2_client import NTError, status_name

# A test gets this long; its connection then counts as hung.
REQUEST_TIMEOUT = 60


class Environment:
    """The server under test and how to reach it."""

    def __init__(self, backend, version, folder):
        self.backend = backend
        self.version = version
        self.folder = folder
        self.smbd = None
        self.mounts = []

    def share(self, name, options=None, path=None, mode=0o755):
        """A share whose folder lies in the run's folder."""
        if options is None:
            options = backends.share_options(self.backend)
        return private_smbd.Share(
            name, path or os.path.join(self.folder, 'shares', name),
            options, owner='nt', mode=mode)

    def mount(self, name, command, source='none'):
        """Mount a file system for a share; None, or why it cannot be."""
        path = os.path.join(self.folder, 'shares', name)
        os.makedirs(path)
        result = subprocess.run(
            ['mount', *command, source, path], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        if result.returncode != 0:
            os.rmdir(path)
            return 'mount %s fails: %s' % (' '.join(command),
                                           result.stdout.strip())
        self.mounts.append(path)
        uid = private_smbd.FIRST_UID
        os.chown(path, uid, uid)
        return None

    def mount_image(self, name, mkfs, megabytes):
        """Mount a new image with a file system; None, or why not."""
        image = os.path.join(self.folder, name + '.image')
        with open(image, 'w') as f:
            f.truncate(megabytes << 20)
        program = shutil.which(mkfs[0], path='/usr/sbin:/sbin:/usr/bin')
        if program is None:
            return '%s is not installed' % mkfs[0]
        made = subprocess.run([program, *mkfs[1:], image],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if made.returncode != 0:
            return '%s fails: %s' % (mkfs[0], made.stdout.strip())
        return self.mount(name, ['-o', 'loop'], image)

    def unmount(self):
        for path in reversed(self.mounts):
            subprocess.run(['umount', path])
        self.mounts = []

    def client(self, user=None):
        account = self.smbd.user(user)
        return smb.Client('127.0.0.1', self.smbd.port, account.name,
                          account.password, timeout=REQUEST_TIMEOUT)

    def local(self, share, *names):
        """Where something on a share lies on this machine."""
        return os.path.join(self.smbd.share(share).path,
                            *[n.replace('\\', '/') for n in names])


ENVIRONMENT = None


class SmbTest(unittest.TestCase):
    """A test with a connected tree and an own folder self.dir on it."""

    SHARE = 'main'
    longMessage = True

    @property
    def env(self):
        return ENVIRONMENT

    def setUp(self):
        self.clients = []
        self.tree = self.connect()
        self.dir = re.sub(r'\W', '_', self._testMethodName)[:60]
        if self.tree.exists(self.dir):
            self.tree.rmtree(self.dir)
        self.tree.mkdir(self.dir)

    def tearDown(self):
        for client in self.clients:
            client.close()
        self.clients = []
        shutil.rmtree(self.local(), ignore_errors=True)

    def connect(self, share=None, user=None):
        """A new connection and session; the share's tree."""
        client = self.env.client(user)
        self.clients.append(client)
        return client.tree(share or self.SHARE)

    def path(self, *names):
        """The SMB path of something in the test's folder."""
        return '\\'.join((self.dir,) + names)

    def local(self, *names):
        """Where it lies on this machine."""
        return self.env.local(self.SHARE, self.dir, *names)

    def put_local(self, name, data=b''):
        """A file that a local program of the share's owner writes."""
        path = os.path.join(self.local(), name)
        with open(path, 'wb') as f:
            f.write(data)
        uid = self.env.smbd.user('nt').uid
        os.chown(path, uid, uid)
        os.chmod(path, 0o644)
        return path

    def backend_is(self, *backends_):
        if self.env.backend not in backends_:
            self.skipTest('only for the backends ' + ', '.join(backends_))

    def require(self, why):
        """Skip when why, a reason, is given."""
        if why:
            self.skipTest(why)

    def assert_status(self, status, call, *arguments, **keywords):
        """The call fails with one of these statuses (names)."""
        names = (status,) if isinstance(status, str) else status
        try:
            result = call(*arguments, **keywords)
        except NTError as e:
            if status_name(e.status) not in names:
                self.fail('%s, expected %s' % (e, ' or '.join(names)))
            return e
        if isinstance(result, smb.Handle):
            result.close()
        self.fail('the call succeeded, expected ' + ' or '.join(names))
        return None

    def assert_time(self, got, want, what='time'):
        if got != want:
            self.fail('%s is %d, expected %d (%+.7f s)' %
                      (what, got, want, (got - want) / 1e7))

    def assert_now(self, got, what='time', slack=20):
        """A time of the last few seconds."""
        now = smb.unix_to_filetime(time.time())
        if abs(got - now) > slack * 10000000:
            self.fail('%s is %d, which is %.1f s from now' %
                      (what, got, (got - now) / 1e7))


def expected_deviations(backend, version):
    """{test: reason}; the list's lines are test<TAB>reason."""
    path = backends.expected_file('own-' + backend, version)
    found = {}
    if not os.path.exists(path):
        return found
    with open(path) as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip('\n')
            if not line or line.startswith('#'):
                continue
            fields = line.split('\t')
            if len(fields) != 2 or not fields[1]:
                sys.exit('%s:%d: not test<TAB>reason' % (path, number))
            found[fields[0]] = fields[1]
    return found


class Result(unittest.TestResult):
    """Prints one line for each test and counts."""

    def __init__(self, rerun, deviations):
        unittest.TestResult.__init__(self)
        self.rerun = rerun
        self.deviations = deviations
        self.passed = 0
        self.failed = 0
        self.skips = 0

    @staticmethod
    def name(test):
        return test.id()

    def say(self, word, test, more=''):
        print('%-13s %s%s' % (word, self.name(test), more), flush=True)

    def addSuccess(self, test):
        self.passed += 1
        why = self.deviations.get(self.name(test))
        if why is None or why.endswith('(now and then)'):
            self.say('ok', test)
        else:
            self.say('ok', test, ': unexpected pass, take it from the list '
                     '(%s)' % why)

    def addSkip(self, test, reason):
        self.skips += 1
        self.say('skip', test, ': ' + reason)

    @staticmethod
    def told(err):
        """The error with the lines of our own files that lead to it."""
        kind, value, where = err
        lines = ['line %d: %s' % (frame.lineno, frame.line)
                 for frame in traceback.extract_tb(where)
                 if os.path.basename(frame.filename).startswith('test_')]
        lines += traceback.format_exception_only(kind, value)
        return '\n'.join(line.rstrip() for line in lines)

    def bad(self, test, err):
        text = self.told(err)
        why = self.deviations.get(self.name(test))
        if why is not None:
            self.skips += 1
            self.say('known failure', test, ': ' + why)
            last = text.strip().splitlines()[-1]
            print('    ' + last, flush=True)
            return
        self.failed += 1
        self.say('FAILED', test)
        for line in text.strip().splitlines():
            print('    ' + line)
        print('    rerun: ' + self.rerun(test), flush=True)

    def addFailure(self, test, err):
        self.bad(test, err)

    def addError(self, test, err):
        self.bad(test, err)

    def addSubTest(self, test, subtest, err):
        raise AssertionError('tests here use no subtests')


def module_shares(module, env):
    """The shares that a test module asks for, besides main."""
    wanted = getattr(module, 'shares', None)
    return wanted(env) if wanted else []


def tests_of(modules, names):
    """All tests, or those whose id ends with or contains a name."""
    suite = unittest.TestSuite()
    for module in modules:
        for test in unittest.defaultTestLoader.loadTestsFromModule(module):
            for one in test:
                if not names or any(n in one.id() for n in names):
                    suite.addTest(one)
    return suite


def run(modules, arguments):
    """Run the modules' tests on one server; the exit status."""
    global ENVIRONMENT
    version = backends.check_version(arguments.samba)
    backends.share_options(arguments.backend)
    suite = tests_of(modules, arguments.tests)
    if suite.countTestCases() == 0:
        raise backends.Refused('no test has that in its name: ' +
                               ' '.join(arguments.tests))
    if arguments.list:
        for test in suite:
            print(test.id())
        return 0

    def rerun(test):
        words = ['torture/%s.py' % test.id().split('.')[0],
                 '--backend', arguments.backend]
        if arguments.folder:
            words += ['--folder', arguments.folder]
        return ' '.join(shlex.quote(w)
                        for w in words + [test.id().split('.', 1)[1]])

    result = Result(rerun, expected_deviations(arguments.backend, version))
    with backends.Folder(arguments.folder, arguments.keep) as folder:
        env = Environment(arguments.backend, version, folder)
        ENVIRONMENT = env
        try:
            shares = [env.share('main')]
            for module in modules:
                shares += module_shares(module, env)
            env.smbd = private_smbd.PrivateSmbd(
                os.path.join(folder, 'smbd'), shares,
                users=[private_smbd.User('nt'), private_smbd.User('other')],
                log_level=arguments.log_level,
                preload=arguments.preload.split(',')
                if arguments.preload else ())
            env.smbd.start()
            suite.run(result)
            panics = env.smbd.panics()
            for line in panics:
                print('smbd: ' + line)
            if panics:
                result.failed += 1
        finally:
            if env.smbd is not None:
                env.smbd.stop()
            env.unmount()
    print('%d passed, %d failed, %d skipped' %
          (result.passed, result.failed, result.skips))
    return 1 if result.failed else 0


def stop_on_signal(number, frame):
    raise KeyboardInterrupt


def arguments_of(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('--backend', choices=backends.BACKENDS,
                        default='posix', help='default: posix')
    parser.add_argument('--samba', metavar='VERSION',
                        help="the Samba to test with; default: this "
                        "machine's")
    parser.add_argument('--folder', metavar='DIR',
                        help='where the shares are made, to test another '
                        'file system; default: /var/tmp')
    parser.add_argument('--keep', action='store_true',
                        help='keep the folder with shares and logs')
    parser.add_argument('--list', action='store_true',
                        help='print the names of the tests and end')
    parser.add_argument('--log-level', default='1 vfs:3', metavar='LEVEL',
                        help="smbd's log level; default: %(default)s, with "
                        'what the module says it forces')
    parser.add_argument('--preload', metavar='LIBRARY,...', default='',
                        help='libraries to preload into smbd; '
                        'libasan.so for a build with --sanitize')
    parser.add_argument('tests', nargs='*', metavar='TEST',
                        help='only tests with this in their name')
    return parser.parse_args()


def run_modules(modules, description):
    arguments = arguments_of(description)
    signal.signal(signal.SIGTERM, stop_on_signal)
    try:
        return run(modules, arguments)
    except (backends.Refused, private_smbd.SmbdError) as e:
        print('%s: %s' % (os.path.basename(sys.argv[0]), e),
              file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def load(path):
    """A test module by its file; its tests' ids start with its name."""
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main():
    """For the end of a test module."""
    path = os.path.abspath(sys.argv[0])
    sys.exit(run_modules([load(path)], 'Tests over SMB.'))
