# Samba's client library, as far as the tests use it.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""libsmbclient through ctypes: a client that shares nothing with impacket.

The library keeps one context for the process; use() points it to a server.
Its calls set errno; here they raise OSError. What goes through its own IPC
connection (ACLs) works on port 445 only and is not used.
"""

import ctypes
import os

AUTH_FUNCTION = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int,
    ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int)


class Timeval(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('microseconds', ctypes.c_long)]


class Timespec(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('nanoseconds', ctypes.c_long)]


class FileInfo(ctypes.Structure):
    """struct libsmb_file_info."""
    _fields_ = [('size', ctypes.c_uint64), ('attributes', ctypes.c_uint16),
                ('uid', ctypes.c_uint32), ('gid', ctypes.c_uint32),
                ('birth', Timespec), ('write', Timespec),
                ('access', Timespec), ('change', Timespec),
                ('name', ctypes.c_char_p), ('short', ctypes.c_char_p)]


class Library:
    def __init__(self):
        self.library = ctypes.CDLL('libsmbclient.so.0', use_errno=True)
        self.library.smbc_readdirplus.restype = ctypes.POINTER(FileInfo)
        for name in ('read', 'write'):
            getattr(self.library, 'smbc_' + name).restype = ctypes.c_ssize_t
        self.auth = AUTH_FUNCTION(self._auth)
        self.user = ''
        self.password = ''
        self.url = ''

    def _auth(self, server, share, workgroup, wlen, user, ulen, password,
              plen):
        ctypes.memmove(user, self.user.encode() + b'\0',
                       min(ulen, len(self.user.encode()) + 1))
        ctypes.memmove(password, self.password.encode() + b'\0',
                       min(plen, len(self.password.encode()) + 1))

    def use(self, smbd, share, user=None):
        """Connect to that share from now on."""
        account = smbd.user(user)
        self.user, self.password = account.name, account.password
        self.url = 'smb://127.0.0.1:%d/%s/' % (smbd.port, share)
        os.environ['SMB_CONF_PATH'] = smbd.client_conf
        if self.library.smbc_init(self.auth, 0) != 0:
            raise OSError(ctypes.get_errno(), 'smbc_init')

    def path(self, name):
        return (self.url + name.replace('\\', '/')).encode()

    def call(self, function, *arguments):
        ctypes.set_errno(0)
        result = getattr(self.library, 'smbc_' + function)(*arguments)
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, 'smbc_%s: %s' % (function,
                                                   os.strerror(number)))
        return result

    def put(self, name, data):
        handle = self.call('open', self.path(name),
                           os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            self.call('write', handle, data, ctypes.c_size_t(len(data)))
        finally:
            self.call('close', handle)

    def get(self, name):
        handle = self.call('open', self.path(name), os.O_RDONLY, 0)
        out = b''
        try:
            buffer = ctypes.create_string_buffer(65536)
            while True:
                count = self.call('read', handle, buffer,
                                  ctypes.c_size_t(len(buffer)))
                if count == 0:
                    return out
                out += buffer.raw[:count]
        finally:
            self.call('close', handle)

    def unlink(self, name):
        self.call('unlink', self.path(name))

    def mkdir(self, name):
        self.call('mkdir', self.path(name), 0o755)

    def rmdir(self, name):
        self.call('rmdir', self.path(name))

    def rename(self, name, new):
        self.call('rename', self.path(name), self.path(new))

    def set_times(self, name, access, write):
        """Both in whole seconds since 1970."""
        times = (Timeval * 2)(Timeval(access, 0), Timeval(write, 0))
        self.call('utimes', self.path(name), times)

    def set_attribute(self, name, attribute, value):
        value = value.encode()
        self.call('setxattr', self.path(name), attribute.encode(), value,
                  ctypes.c_size_t(len(value)), 0)

    def list(self, name):
        """{name: FileInfo} without . and .."""
        handle = self.call('opendir', self.path(name))
        found = {}
        try:
            while True:
                entry = self.library.smbc_readdirplus(handle)
                if not entry:
                    return found
                copy = FileInfo()
                ctypes.memmove(ctypes.byref(copy), entry,
                               ctypes.sizeof(FileInfo))
                key = entry.contents.name.decode()
                if key not in ('.', '..'):
                    found[key] = copy
        finally:
            self.call('closedir', handle)
