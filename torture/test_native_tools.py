#!/usr/bin/python3
# mkfs.ntvfs, ntvfs-dump, fsck.ntvfs, and volumes of earlier versions.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""ntvfs_native/tests/golden has an image of every version of the format that
there ever was, compressed, and what ntvfs-dump tells of it. They stay for ever:
every build must read all of them. Run with --write to write the .json of an
image that has none yet."""

import json
import lzma
import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.join(TOP, 'bin')
GOLDEN = os.path.join(TOP, 'ntvfs_native', 'tests', 'golden')

# What is told of a golden image.
QUESTIONS = (['super'], ['roots'], ['map'], ['inode', 'root'],
             ['directory', 'root'])


def run(program, *arguments):
    return subprocess.run([os.path.join(BIN, program)] + list(arguments),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)


def ask(image, *what):
    done = run('ntvfs-dump', '--json', image, *what)
    if done.returncode != 0:
        raise AssertionError('ntvfs-dump %s: %s' % (' '.join(what),
                                                    done.stderr))
    return json.loads(done.stdout)


def tell_all(image):
    """Everything that can be asked of an image, for comparison."""
    told = {' '.join(question): ask(image, *question)
            for question in QUESTIONS}
    for entry in told['directory root']:
        identity = entry['file_id']
        inode = ask(image, 'inode', identity)
        told['inode ' + identity] = inode
        told['extents ' + identity] = ask(image, 'extents', identity)
        told['streams ' + identity] = ask(image, 'streams', identity)
        if inode['type'] == 'directory':
            told['directory ' + identity] = ask(image, 'directory', identity)
    return told


def golden_images():
    return sorted(name[:-len('.image.xz')] for name in os.listdir(GOLDEN)
                  if name.endswith('.image.xz'))


def unpack(name, folder):
    path = os.path.join(folder, name)
    with lzma.open(os.path.join(GOLDEN, name + '.image.xz')) as packed:
        with open(path, 'wb') as image:
            image.write(packed.read())
    return path


class Golden(unittest.TestCase):
    def test_every_version(self):
        self.assertTrue(golden_images())
        for name in golden_images():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                image = unpack(name, folder)
                done = run('fsck.ntvfs', '--quiet', image)
                self.assertEqual(done.returncode, 0, done.stdout)
                with open(os.path.join(GOLDEN, name + '.json')) as file:
                    wanted = json.load(file)
                self.maxDiff = None
                self.assertEqual(tell_all(image), wanted)


class Tools(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.image = os.path.join(self.folder.name, 'image')
        self.addCleanup(self.folder.cleanup)

    def test_mkfs(self):
        done = run('mkfs.ntvfs', self.image)
        self.assertEqual(done.returncode, 1)
        self.assertIn('--size', done.stderr)
        for size in ('0', '5X', '-1', '99999999999T', ''):
            done = run('mkfs.ntvfs', '--size', size, self.image)
            self.assertEqual(done.returncode, 2, size)
        done = run('mkfs.ntvfs', '--size', '1M', self.image)
        self.assertEqual(done.returncode, 1)
        self.assertIn('4 MiB', done.stderr)
        done = run('mkfs.ntvfs', '--size', '8M', '--label', 'a "b" \\ c',
                   '--inode-size', '1024', self.image)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.path.getsize(self.image), 8 << 20)
        told = ask(self.image, 'super')
        self.assertEqual(told['label'], 'a "b" \\ c')
        self.assertEqual(told['inode_size'], 1024)
        done = run('mkfs.ntvfs', self.image)
        self.assertEqual(done.returncode, 1)
        self.assertIn('--force', done.stderr)
        done = run('mkfs.ntvfs', '--force', self.image)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run('fsck.ntvfs', self.image).returncode, 0)

    def test_dump_refuses(self):
        done = run('ntvfs-dump', self.image, 'super')
        self.assertEqual(done.returncode, 1)
        with open(self.image, 'wb') as file:
            file.write(b'no volume' * 1000000)
        done = run('ntvfs-dump', self.image, 'super')
        self.assertEqual(done.returncode, 1)
        self.assertIn('not an ntvfs volume', done.stderr)
        run('mkfs.ntvfs', '--force', self.image)
        for what in (['inode'], ['inode', 'x'], ['what'], []):
            done = run('ntvfs-dump', self.image, *what)
            self.assertEqual(done.returncode, 2, what)
        done = run('ntvfs-dump', self.image, 'inode', '4711')
        self.assertEqual(done.returncode, 1)
        self.assertIn('not found', done.stderr)


def write_missing():
    for name in golden_images():
        path = os.path.join(GOLDEN, name + '.json')
        if os.path.exists(path):
            continue
        with tempfile.TemporaryDirectory() as folder:
            told = tell_all(unpack(name, folder))
        with open(path, 'w') as file:
            json.dump(told, file, indent=1, sort_keys=True)
            file.write('\n')


if __name__ == '__main__':
    if sys.argv[1:] == ['--write']:
        write_missing()
    else:
        unittest.main()
