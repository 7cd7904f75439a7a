#!/usr/bin/env python
# The build of ntvfs: ./waf configure && ./waf build
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later

import os

APPNAME = 'ntvfs'
VERSION = '0.1.0'

top = '.'
out = 'build'

FOLDERS = ['xattr_idl', 'ntvfs', 'ntvfs_posix', 'ntvfs_native', 'smbd',
           'tools', 'torture', 'bench']

WARNINGS = ['-Wall', '-Wextra', '-Werror', '-Wshadow', '-Wpointer-arith',
            '-Wmissing-prototypes', '-Wstrict-prototypes', '-Wundef',
            '-Wwrite-strings', '-Wformat=2', '-Wno-unused-parameter',
            '-Wno-missing-field-initializers',
            '-Werror=declaration-after-statement']


def options(opt):
    opt.load('compiler_c')
    group = opt.add_option_group('ntvfs')
    group.add_option('--samba-source', default=None, metavar='DIR',
                     help='a Samba source tree, instead of the installed '
                          "package's, which tools/samba-sdk fetches")
    group.add_option('--sanitize', action='store_true', default=False,
                     help='a debug build with AddressSanitizer and '
                          'UndefinedBehaviorSanitizer')
    group.add_option('--kill-points', action='store_true', default=False,
                     help='compile in the places where the torture tests '
                          'kill a process of the native engine')


def configure(conf):
    conf.load('compiler_c')
    source = os.environ['NTVFS_SAMBA_SOURCE']
    generated = os.path.join(source, 'bin', 'default')
    conf.env.SAMBA_SOURCE = source
    conf.find_program('perl', var='PERL')
    conf.env.PIDL = os.path.join(source, 'pidl', 'pidl')

    conf.env.append_value('CFLAGS', ['-std=gnu11', '-g', '-fPIC',
                                     '-fno-strict-aliasing', '-pthread'])
    conf.env.append_value('CFLAGS', WARNINGS)
    conf.env.append_value('LINKFLAGS', ['-pthread', '-Wl,-z,relro,-z,now'])
    conf.env.append_value('DEFINES', ['_GNU_SOURCE', '_FILE_OFFSET_BITS=64',
                                      'NTVFS_VERSION="%s"' % VERSION])
    if conf.options.sanitize:
        flags = ['-fsanitize=address,undefined',
                 '-fno-sanitize-recover=undefined', '-fno-omit-frame-pointer']
        conf.env.append_value('CFLAGS', ['-O1'] + flags)
        conf.env.append_value('LINKFLAGS', flags)
    else:
        conf.env.append_value('CFLAGS', ['-O2', '-fstack-protector-strong'])
    if conf.options.kill_points:
        conf.env.append_value('DEFINES', ['NTVFS_KILL_POINTS=1'])

    # Samba's own headers, for what is compiled against smbd or libndr.
    # Its lib/util stays out: the signal.h there hides the system's.
    folders = [os.path.join(generated, 'include'), generated,
               os.path.join(generated, 'source3'), source,
               os.path.join(source, 'source3'),
               os.path.join(source, 'source3', 'include'),
               os.path.join(source, 'lib', 'replace'),
               os.path.join(source, 'include'),
               os.path.join(generated, 'include', 'public')]
    conf.env.CFLAGS_SAMBA = ['-isystem' + folder for folder in folders]
    conf.env.DEFINES_SAMBA = ['HAVE_CONFIG_H', '_SAMBA_BUILD_=4',
                              '__STDC_WANT_LIB_EXT1__=1']

    for library, header in (('talloc', 'talloc.h'), ('tdb', 'tdb.h'),
                            ('tevent', 'tevent.h'), ('popt', 'popt.h'),
                            ('xxhash', 'xxhash.h')):
        conf.check_cc(lib=library, uselib_store=library.upper(),
                      header_name=['stdint.h', 'stdbool.h', 'stdarg.h',
                                   'stddef.h', 'sys/types.h', 'signal.h',
                                   header])
    for library, store in (('cmocka', 'CMOCKA'), ('ndr', 'NDR'),
                           ('ndr-standard', 'NDR_STANDARD'),
                           ('samba-util', 'SAMBA_UTIL'),
                           ('samba-errors', 'SAMBA_ERRORS'),
                           ('smbclient', 'SMBCLIENT')):
        conf.check_cc(lib=library, uselib_store=store)
    version = conf.cmd_and_log(['dpkg-architecture', '-qDEB_HOST_MULTIARCH'])
    conf.env.SAMBA_MODULES = '/usr/lib/%s/samba/vfs' % version.strip()
    conf.env.SAMBA_PRIVATE_LIBRARIES = '/usr/lib/%s/samba' % version.strip()

    remembered = os.path.join(conf.bldnode.abspath(), 'samba-source')
    with open(remembered, 'w') as f:
        f.write(source + '\n')


def build(bld):
    for folder in FOLDERS:
        if os.path.exists(os.path.join(bld.path.abspath(), folder,
                                       'wscript')):
            bld.recurse(folder)
    bld.add_post_fun(link_programs)


def link_programs(bld):
    """Make bin/NAME a link to every built program, bin/tests/ to tests.

    For another build folder than build (configure --out) bin lies in it.
    """
    top_folder = bld.path.abspath()
    if bld.bldnode.abspath() != os.path.join(top_folder, out):
        top_folder = bld.bldnode.abspath()
    bin_folder = os.path.join(top_folder, 'bin')
    os.makedirs(os.path.join(bin_folder, 'tests'), exist_ok=True)
    for group in bld.groups:
        for generator in group:
            task = getattr(generator, 'link_task', None)
            if task is None:
                continue
            if 'cprogram' not in generator.features and \
                    'cshlib' not in generator.features:
                continue
            built = task.outputs[0].abspath()
            name = os.path.basename(built)
            is_test = getattr(generator, 'unit_test', False)
            link = os.path.join(bin_folder, 'tests' if is_test else '', name)
            target = os.path.relpath(built, os.path.dirname(link))
            if os.path.islink(link) and os.readlink(link) == target:
                continue
            if os.path.lexists(link):
                os.unlink(link)
            os.symlink(target, link)
