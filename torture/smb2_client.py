# A small SMB2 client that sends exactly the requests a test asks for.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Raw SMB2 requests over impacket's connection, login and signing.

impacket's own calls normalise names, keep a table of file names and hide
fields.  The tests must be able to send any value and to see any answer, so
the bodies of the requests are packed here and impacket carries them.

Every call either returns what the server answered or raises NTError with
the NTSTATUS.  Times are raw FILETIME integers (100 ns since 1601, UTC).
"""

import struct

from impacket import nmb, smb3
from impacket.smb3structs import (SMB2_CLOSE, SMB2_CREATE, SMB2_DIALECT_21,
                                  SMB2_DIALECT_30, SMB2_DIALECT_311,
                                  SMB2_FLUSH, SMB2_IOCTL,
                                  SMB2_QUERY_DIRECTORY, SMB2_QUERY_INFO,
                                  SMB2_READ, SMB2_SET_INFO, SMB2_WRITE)

HEADER = 64

# [MS-ERREF] 2.3, the statuses that the tests name.
STATUS = {
    'OK': 0x00000000,
    'BUFFER_OVERFLOW': 0x80000005,
    'NO_MORE_FILES': 0x80000006,
    'STOPPED_ON_SYMLINK': 0x8000002D,
    'NOT_IMPLEMENTED': 0xC0000002,
    'INVALID_INFO_CLASS': 0xC0000003,
    'INFO_LENGTH_MISMATCH': 0xC0000004,
    'INVALID_HANDLE': 0xC0000008,
    'INVALID_PARAMETER': 0xC000000D,
    'NO_SUCH_FILE': 0xC000000F,
    'INVALID_DEVICE_REQUEST': 0xC0000010,
    'END_OF_FILE': 0xC0000011,
    'INVALID_VIEW_SIZE': 0xC000001F,
    'ACCESS_DENIED': 0xC0000022,
    'BUFFER_TOO_SMALL': 0xC0000023,
    'OBJECT_NAME_INVALID': 0xC0000033,
    'OBJECT_NAME_NOT_FOUND': 0xC0000034,
    'OBJECT_NAME_COLLISION': 0xC0000035,
    'OBJECT_PATH_NOT_FOUND': 0xC000003A,
    'SHARING_VIOLATION': 0xC0000043,
    'EA_TOO_LARGE': 0xC0000050,
    'NO_EAS_ON_FILE': 0xC0000052,
    'DELETE_PENDING': 0xC0000056,
    'PRIVILEGE_NOT_HELD': 0xC0000061,
    'DISK_FULL': 0xC000007F,
    'INSUFFICIENT_RESOURCES': 0xC000009A,
    'FILE_IS_A_DIRECTORY': 0xC00000BA,
    'NOT_SUPPORTED': 0xC00000BB,
    'BAD_NETWORK_NAME': 0xC00000CC,
    'NOT_SAME_DEVICE': 0xC00000D4,
    'DIRECTORY_NOT_EMPTY': 0xC0000101,
    'NOT_A_DIRECTORY': 0xC0000103,
    'NAME_TOO_LONG': 0xC0000106,
    'CANNOT_DELETE': 0xC0000121,
    'FILE_CLOSED': 0xC0000128,
    'UNSUCCESSFUL': 0xC0000001,
    'ALLOTTED_SPACE_EXCEEDED': 0xC0000099,
    'FILE_SYSTEM_LIMITATION': 0xC0000427,
    'INTERNAL_ERROR': 0xC00000E5,
    'EAS_NOT_SUPPORTED': 0xC000004F,
    'INVALID_EA_NAME': 0x80000013,
    'UNEXPECTED_IO_ERROR': 0xC00000E9,
}
STATUS_NAME = {value: name for name, value in STATUS.items()}

# Access mask bits, [MS-SMB2] 2.2.13.1
FILE_READ_DATA = 0x1
FILE_WRITE_DATA = 0x2
FILE_APPEND_DATA = 0x4
FILE_READ_EA = 0x8
FILE_WRITE_EA = 0x10
FILE_EXECUTE = 0x20
FILE_DELETE_CHILD = 0x40
FILE_READ_ATTRIBUTES = 0x80
FILE_WRITE_ATTRIBUTES = 0x100
DELETE = 0x10000
READ_CONTROL = 0x20000
WRITE_DAC = 0x40000
WRITE_OWNER = 0x80000
SYNCHRONIZE = 0x100000
MAXIMUM_ALLOWED = 0x2000000
ALL_ACCESS = 0x1F01FF

SHARE_NONE, SHARE_READ, SHARE_WRITE, SHARE_DELETE = 0, 1, 2, 4
SHARE_ALL = 7

SUPERSEDE, OPEN, CREATE, OPEN_IF, OVERWRITE, OVERWRITE_IF = range(6)

DIRECTORY_FILE = 0x1
WRITE_THROUGH = 0x2
NON_DIRECTORY_FILE = 0x40
DELETE_ON_CLOSE = 0x1000
OPEN_REPARSE_POINT = 0x200000

READONLY, HIDDEN, SYSTEM, DIRECTORY = 0x1, 0x2, 0x4, 0x10
ARCHIVE, NORMAL, TEMPORARY, SPARSE = 0x20, 0x80, 0x100, 0x200
REPARSE, COMPRESSED, OFFLINE, NOT_INDEXED = 0x400, 0x800, 0x1000, 0x2000
ENCRYPTED = 0x4000

INFO_FILE, INFO_FILESYSTEM, INFO_SECURITY, INFO_QUOTA = 1, 2, 3, 4

OWNER, GROUP, DACL, SACL = 1, 2, 4, 8

FSCTL_SET_SPARSE = 0x900C4
FSCTL_SET_ZERO_DATA = 0x980C8
FSCTL_QUERY_ALLOCATED_RANGES = 0x940CF
FSCTL_SRV_REQUEST_RESUME_KEY = 0x140078
FSCTL_SRV_COPYCHUNK = 0x1440F2
FSCTL_SRV_COPYCHUNK_WRITE = 0x1480F2
FSCTL_SET_COMPRESSION = 0x9C040
FSCTL_GET_REPARSE_POINT = 0x900A8
FSCTL_SET_REPARSE_POINT = 0x900A4
FSCTL_SRV_ENUMERATE_SNAPSHOTS = 0x144064

FT_UNIX_EPOCH = 116444736000000000


def filetime(year, month=1, day=1, hour=0, minute=0, second=0, hundred_ns=0):
    """The FILETIME of a UTC date; years far outside time_t are fine."""
    y = year - (month <= 2)
    era = y // 400
    yoe = y - era * 400
    doy = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = era * 146097 + yoe * 365 + yoe // 4 - yoe // 100 + doy - 584694
    seconds = days * 86400 + hour * 3600 + minute * 60 + second
    return seconds * 10000000 + hundred_ns


def unix_to_filetime(seconds):
    """A Unix time in (fractions of) seconds as FILETIME."""
    return FT_UNIX_EPOCH + int(seconds * 10000000)


def status_name(status):
    return STATUS_NAME.get(status, '0x%08X' % status)


class NTError(Exception):
    """The server answered with an error status."""

    def __init__(self, status, what, data=b''):
        Exception.__init__(self, '%s: %s' % (what, status_name(status)))
        self.status = status
        self.data = data


class Basic(object):
    """FileBasicInformation, [MS-FSCC] 2.4.7."""

    def __init__(self, create, access, write, change, attributes):
        self.create = create
        self.access = access
        self.write = write
        self.change = change
        self.attributes = attributes

    def times(self):
        return (self.create, self.access, self.write, self.change)

    def __repr__(self):
        return ('Basic(create=%d access=%d write=%d change=%d '
                'attributes=0x%x)' % (self.times() + (self.attributes,)))


class Entry(object):
    """One entry of FileIdBothDirectoryInformation, [MS-FSCC] 2.4.22."""

    def __init__(self, data):
        (self.index, self.create, self.access, self.write, self.change,
         self.size, self.allocation, self.attributes, namelen, self.ea_size,
         shortlen) = struct.unpack_from('<IQQQQQQIIIB', data, 4)
        self.short = data[70:70 + shortlen].decode('utf-16le')
        self.file_id, = struct.unpack_from('<Q', data, 96)
        self.name = data[104:104 + namelen].decode('utf-16le',
                                                   'surrogatepass')

    def times(self):
        return (self.create, self.access, self.write, self.change)

    def __repr__(self):
        return 'Entry(%r size=%d attributes=0x%x)' % (self.name, self.size,
                                                      self.attributes)


class Client(object):
    """One SMB connection with one session."""

    DIALECTS = {'2.1': SMB2_DIALECT_21, '3.0': SMB2_DIALECT_30,
                '3.1.1': SMB2_DIALECT_311}

    def __init__(self, host, port, user, password, dialect='3.0',
                 timeout=60):
        self.host = host
        self.smb = smb3.SMB3(host, host, None, nmb.TYPE_SERVER, port,
                             timeout=timeout,
                             preferredDialect=self.DIALECTS[dialect])
        self.smb.login(user, password)

    def tree(self, share):
        try:
            return Tree(self, self.smb.connectTree(share), share)
        except smb3.SessionError as e:
            raise NTError(e.get_error_code(), 'tree connect to ' + share)

    def request(self, tree, command, body, what, accept=(0,), charge=1):
        packet = self.smb.SMB_PACKET()
        packet['Command'] = command
        packet['TreeID'] = tree
        packet['CreditCharge'] = charge
        packet['Data'] = body
        answer = self.smb.recvSMB(self.smb.sendSMB(packet))
        status = answer['Status'] & 0xffffffff
        if status not in accept:
            raise NTError(status, what, answer['Data'])
        return status, answer['Data']

    def send_only(self, tree, command, body):
        packet = self.smb.SMB_PACKET()
        packet['Command'] = command
        packet['TreeID'] = tree
        packet['Data'] = body
        return self.smb.sendSMB(packet)

    def close(self):
        """Drops the connection as a client does that is switched off."""
        self.smb.close_session()


def _name_bytes(name):
    if isinstance(name, bytes):
        return name
    return name.encode('utf-16le', 'surrogatepass')


def create_context(name, data):
    """One create context of [MS-SMB2] 2.2.13.2 with a four byte name."""
    head = struct.pack('<IHHHHI', 0, 16, 4, 0, 24 if data else 0, len(data))
    return head + name + b'\0' * 4 + data


def chain_contexts(contexts):
    out = b''
    for i, context in enumerate(contexts):
        if i + 1 < len(contexts):
            context += b'\0' * (-len(context) % 8)
            context = struct.pack('<I', len(context)) + context[4:]
        out += context
    return out


class Tree(object):
    """A connected share."""

    def __init__(self, client, tid, share):
        self.client = client
        self.tid = tid
        self.share = share

    def open(self, name, access=MAXIMUM_ALLOWED, disposition=OPEN,
             options=0, attributes=0, share=SHARE_ALL, sd=None,
             allocation=None, eas=None, contexts=None, oplock=0):
        """CREATE; names take backslashes and may carry a stream name."""
        raw = _name_bytes(name)
        wanted = list(contexts or [])
        if eas is not None:
            wanted.append(create_context(b'ExtA', pack_eas(eas)))
        if sd is not None:
            wanted.append(create_context(b'SecD', sd))
        if allocation is not None:
            wanted.append(create_context(b'AlSi',
                                         struct.pack('<Q', allocation)))
        chain = chain_contexts(wanted)
        buf = raw
        offset = 0
        if chain:
            buf += b'\0' * (-len(buf) % 8)
            offset = HEADER + 56 + len(buf)
            buf += chain
        body = struct.pack('<HBBIQQIIIIIHHII', 57, 0, oplock, 2, 0, 0,
                           access, attributes, share, disposition, options,
                           HEADER + 56, len(raw), offset, len(chain))
        _, data = self.client.request(self.tid, SMB2_CREATE,
                                      body + (buf or b'\0'),
                                      'create %r' % name)
        return Handle(self, name, data)

    def create(self, name, **arguments):
        arguments.setdefault('disposition', CREATE)
        return self.open(name, **arguments)

    def mkdir(self, name, **arguments):
        arguments.setdefault('disposition', CREATE)
        options = arguments.pop('options', 0) | DIRECTORY_FILE
        self.open(name, options=options, **arguments).close()

    def put(self, name, data=b'', **arguments):
        """A file with this content; replaces what was there."""
        arguments.setdefault('disposition', OVERWRITE_IF)
        with self.open(name, **arguments) as h:
            if data:
                h.write(data)

    def get(self, name):
        """The whole content of a file or stream."""
        with self.open(name, access=FILE_READ_DATA |
                       FILE_READ_ATTRIBUTES) as h:
            return h.read_all()

    def basic(self, name):
        with self.open(name, access=FILE_READ_ATTRIBUTES) as h:
            return h.basic()

    def attributes(self, name):
        return self.basic(name).attributes

    def set_basic(self, name, *times, **fields):
        with self.open(name, access=FILE_READ_ATTRIBUTES |
                       FILE_WRITE_ATTRIBUTES) as h:
            h.set_basic(*times, **fields)

    def exists(self, name):
        try:
            self.open(name, access=FILE_READ_ATTRIBUTES).close()
        except NTError as e:
            if e.status in (STATUS['OBJECT_NAME_NOT_FOUND'],
                            STATUS['OBJECT_PATH_NOT_FOUND']):
                return False
            raise
        return True

    def remove(self, name, options=0):
        """Deletes as Windows Explorer does: open, set disposition, close."""
        with self.open(name, access=DELETE | FILE_READ_ATTRIBUTES,
                       options=options) as h:
            h.set_disposition(True)

    def rename(self, name, new, replace=False):
        with self.open(name, access=DELETE | FILE_READ_ATTRIBUTES) as h:
            h.rename(new, replace)

    def list(self, name, pattern='*', buffer=65536):
        with self.open(name, access=FILE_READ_DATA | FILE_READ_ATTRIBUTES,
                       options=DIRECTORY_FILE) as h:
            return h.list(pattern, buffer)

    def names(self, name, pattern='*'):
        """Names in a directory without . and .., in the server's order."""
        return [e.name for e in self.list(name, pattern)
                if e.name not in ('.', '..')]

    def rmtree(self, name):
        """Deletes a folder with all it holds, read-only ones too."""
        for entry in self.list(name):
            if entry.name in ('.', '..'):
                continue
            path = name + '\\' + entry.name
            if entry.attributes & READONLY:
                self.set_basic(path, attributes=NORMAL)
            if entry.attributes & DIRECTORY:
                self.rmtree(path)
            else:
                self.remove(path)
        self.remove(name)


def pack_eas(eas):
    """A FileFullEaInformation list, [MS-FSCC] 2.4.15."""
    out = b''
    for i, (name, value) in enumerate(eas):
        raw = name.encode('ascii')
        one = struct.pack('<IBBH', 0, 0, len(raw), len(value))
        one += raw + b'\0' + value
        if i + 1 < len(eas):
            one += b'\0' * (-len(one) % 4)
            one = struct.pack('<I', len(one)) + one[4:]
        out += one
    return out


def unpack_eas(data):
    eas = []
    offset = 0
    while len(data) - offset >= 8:
        step, flags, nlen, vlen = struct.unpack_from('<IBBH', data, offset)
        name = data[offset + 8:offset + 8 + nlen].decode('ascii')
        start = offset + 8 + nlen + 1
        eas.append((name, data[start:start + vlen]))
        if step == 0:
            break
        offset += step
    return eas


class Handle(object):
    """An open file, directory or stream; closes itself in a with block."""

    def __init__(self, tree, name, data):
        self.tree = tree
        self.name = name
        (_, self.oplock, _, self.action, create, access, write, change,
         self.allocation, self.size, attributes, _) = struct.unpack_from(
             '<HBBIQQQQQQII', data)
        self.at_open = Basic(create, access, write, change, attributes)
        self.fid = data[64:80]
        offset, length = struct.unpack_from('<II', data, 80)
        self.contexts = {}
        if length:
            self._contexts(data[offset - HEADER:offset - HEADER + length])

    def _contexts(self, data):
        offset = 0
        while True:
            step, noff, nlen, _, doff, dlen = struct.unpack_from(
                '<IHHHHI', data, offset)
            name = data[offset + noff:offset + noff + nlen]
            start = offset + doff
            self.contexts[name] = data[start:start + dlen]
            if step == 0:
                return
            offset += step

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.fid is not None:
            try:
                self.close()
            except NTError:
                if exc[0] is None:
                    raise

    def request(self, command, body, what, accept=(0,), charge=1):
        return self.tree.client.request(
            self.tree.tid, command, body, '%s on %r' % (what, self.name),
            accept, charge)

    def close(self, attributes=False):
        """CLOSE; with attributes=True the answer's times and attributes."""
        fid, self.fid = self.fid, None
        _, data = self.request(SMB2_CLOSE,
                               struct.pack('<HHI', 24, int(attributes), 0) +
                               fid, 'close')
        fields = struct.unpack_from('<HHIQQQQQQI', data)
        return Basic(*(fields[3:7] + (fields[9],)))

    def flush(self):
        self.request(SMB2_FLUSH, struct.pack('<HHI', 24, 0, 0) + self.fid,
                     'flush')

    def read(self, length, offset=0):
        body = struct.pack('<HBBIQ', 49, 0x50, 0, length, offset) + self.fid
        body += struct.pack('<IIIHH', 0, 0, 0, 0, 0) + b'\0'
        charge = max(1, (length + 65535) // 65536)
        _, data = self.request(SMB2_READ, body, 'read', charge=charge)
        start, _, count = struct.unpack_from('<BBI', data, 2)
        return data[start - HEADER:start - HEADER + count]

    def read_all(self):
        out = b''
        while True:
            try:
                piece = self.read(65536, len(out))
            except NTError as e:
                if e.status == STATUS['END_OF_FILE']:
                    return out
                raise
            out += piece
            if len(piece) < 65536:
                return out

    def write_once(self, data, offset=0):
        """One WRITE of any size up to 1 MiB; the count written."""
        body = struct.pack('<HHIQ', 49, HEADER + 48, len(data), offset)
        body += self.fid + struct.pack('<IIHHI', 0, 0, 0, 0, 0) + data
        charge = max(1, (len(data) + 65535) // 65536)
        _, answer = self.request(SMB2_WRITE, body, 'write at %d' % offset,
                                 charge=charge)
        return struct.unpack_from('<HHI', answer)[2]

    def write(self, data, offset=0):
        for start in range(0, len(data), 65536):
            piece = data[start:start + 65536]
            if self.write_once(piece, offset + start) != len(piece):
                raise NTError(STATUS['UNSUCCESSFUL'], 'short write')

    def query(self, info_class, info_type=INFO_FILE, additional=0,
              length=65536, accept=(0,), buffer=b'', flags=0):
        """QUERY_INFO; the raw answer."""
        body = struct.pack('<HBBIHHIII', 41, info_type, info_class, length,
                           HEADER + 40 if buffer else 0, 0, len(buffer),
                           additional, flags) + self.fid
        _, data = self.request(SMB2_QUERY_INFO, body + (buffer or b'\0'),
                               'query info %d/%d' % (info_type, info_class),
                               accept)
        offset, count = struct.unpack_from('<HI', data, 2)
        return data[offset - HEADER:offset - HEADER + count]

    def set(self, info_class, buffer, info_type=INFO_FILE, additional=0):
        """SET_INFO with exactly this buffer."""
        body = struct.pack('<HBBIHHI', 33, info_type, info_class,
                           len(buffer), HEADER + 32, 0, additional)
        self.request(SMB2_SET_INFO, body + self.fid + buffer,
                     'set info %d/%d' % (info_type, info_class),
                     charge=max(1, (len(buffer) + 65535) // 65536))

    def ioctl(self, code, buffer=b'', length=65536, accept=(0,)):
        body = struct.pack('<HHI', 57, 0, code) + self.fid
        body += struct.pack('<IIIIIIII', HEADER + 56, len(buffer), 0,
                            HEADER + 56, 0, length, 1, 0)
        status, data = self.request(SMB2_IOCTL, body + (buffer or b'\0'),
                                    'fsctl 0x%x' % code, accept)
        if len(data) < 48:
            return status, b''
        offset, count = struct.unpack_from('<II', data, 32)
        return status, data[offset - HEADER:offset - HEADER + count]

    # What most tests need, in words.

    def basic(self):
        data = self.query(4)
        return Basic(*struct.unpack_from('<QQQQI', data))

    def set_basic(self, create=0, access=0, write=0, change=0,
                  attributes=0):
        """Raw: 0, -1, -2 and all others are sent as they are."""
        self.set(4, struct.pack('<qqqqII', create, access, write, change,
                                attributes, 0))

    def standard(self):
        """(allocation, end of file, links, delete pending, directory)"""
        return struct.unpack_from('<QQIBB', self.query(5))

    def end_of_file(self):
        return self.standard()[1]

    def set_end_of_file(self, size):
        self.set(20, struct.pack('<q', size))

    def set_allocation(self, size):
        self.set(19, struct.pack('<q', size))

    def internal_id(self):
        return struct.unpack('<Q', self.query(6))[0]

    def ea_size(self):
        return struct.unpack('<I', self.query(7))[0]

    def alternate_name(self):
        data = self.query(21)
        return data[4:].decode('utf-16le')

    def set_disposition(self, delete):
        self.set(13, struct.pack('<B', int(delete)))

    def rename(self, new, replace=False):
        raw = _name_bytes(new)
        self.set(10, struct.pack('<B7xQI', int(replace), 0, len(raw)) + raw)

    def link(self, new, replace=False):
        raw = _name_bytes(new)
        self.set(11, struct.pack('<B7xQI', int(replace), 0, len(raw)) + raw)

    def streams(self):
        """{name: size}, names as sent: ':s:$DATA'."""
        data = self.query(22)
        out = {}
        offset = 0
        while len(data) - offset >= 24:
            step, nlen, size = struct.unpack_from('<IIQ', data, offset)
            name = data[offset + 24:offset + 24 + nlen]
            out[name.decode('utf-16le', 'surrogatepass')] = size
            if step == 0:
                break
            offset += step
        return out

    def eas(self):
        try:
            return unpack_eas(self.query(15))
        except NTError as e:
            if e.status == STATUS['NO_EAS_ON_FILE']:
                return []
            raise

    def set_eas(self, eas):
        self.set(15, pack_eas(eas))

    def security(self, flags=OWNER | GROUP | DACL):
        """The raw self-relative security descriptor."""
        return self.query(0, INFO_SECURITY, flags)

    def set_security(self, sd, flags=DACL):
        self.set(0, sd, INFO_SECURITY, flags)

    def query_directory(self, pattern='*', buffer=65536, restart=False,
                        single=False, info_class=37):
        """One QUERY_DIRECTORY; its entries."""
        raw = _name_bytes(pattern)
        flags = (1 if restart else 0) | (2 if single else 0)
        body = struct.pack('<HBBI', 33, info_class, flags, 0) + self.fid
        body += struct.pack('<HHI', HEADER + 32, len(raw), buffer) + raw
        _, data = self.request(SMB2_QUERY_DIRECTORY, body,
                               'list %r' % pattern,
                               charge=max(1, (buffer + 65535) // 65536))
        offset, count = struct.unpack_from('<HI', data, 2)
        data = data[offset - HEADER:offset - HEADER + count]
        entries = []
        offset = 0
        while True:
            entries.append(Entry(data[offset:]))
            step, = struct.unpack_from('<I', data, offset)
            if step == 0:
                return entries
            offset += step

    def list(self, pattern='*', buffer=65536):
        """All entries, from the start of the directory."""
        entries = self.query_directory(pattern, buffer, restart=True)
        while True:
            try:
                entries += self.query_directory(pattern, buffer)
            except NTError as e:
                if e.status == STATUS['NO_MORE_FILES']:
                    return entries
                raise

    def allocated_ranges(self, offset, length, size=65536, accept=(0,)):
        status, data = self.ioctl(FSCTL_QUERY_ALLOCATED_RANGES,
                                  struct.pack('<qq', offset, length), size,
                                  accept)
        ranges = [struct.unpack_from('<qq', data, i)
                  for i in range(0, len(data), 16)]
        return (status, ranges) if len(accept) > 1 else ranges

    def set_sparse(self, sparse=True):
        self.ioctl(FSCTL_SET_SPARSE, struct.pack('<B', int(sparse)))

    def zero_data(self, start, beyond):
        self.ioctl(FSCTL_SET_ZERO_DATA, struct.pack('<qq', start, beyond))

    def resume_key(self):
        return self.ioctl(FSCTL_SRV_REQUEST_RESUME_KEY, b'', 32)[1][:24]

    def copy_chunks(self, key, chunks,
                    accept=(0,)):
        """chunks: (source offset, target offset, length) each; the
        answer's (status, chunks, bytes of the broken one, bytes)."""
        buffer = key + struct.pack('<II', len(chunks), 0)
        for source, target, length in chunks:
            buffer += struct.pack('<QQII', source, target, length, 0)
        status, data = self.ioctl(FSCTL_SRV_COPYCHUNK, buffer, 12, accept)
        if len(data) < 12:
            return status, None, None, None
        return (status,) + struct.unpack('<III', data)

    def fs_attribute(self):
        """(flags, longest component, name of the file system)"""
        data = self.query(5, INFO_FILESYSTEM)
        flags, longest, nlen = struct.unpack_from('<III', data)
        return flags, longest, data[12:12 + nlen].decode('utf-16le')

    def fs_size(self):
        """(total units, free to caller, free, sectors, bytes a sector)"""
        return struct.unpack('<QQQII', self.query(7, INFO_FILESYSTEM))
