# What lies in a file's extended attributes, decoded by Samba's own bindings.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests' view below the server, independent of our own decoder."""

import os

from samba.dcerpc import security, xattr
from samba.ndr import ndr_pack, ndr_unpack

DOSATTRIB = 'user.DOSATTRIB'
NTACL = 'security.NTACL'
STREAM = 'user.DosStream.'

VALID_ATTRIBUTES = 0x1
VALID_CREATE_TIME = 0x10
VALID_CHANGE_TIME = 0x20


class Dosattrib:
    """user.DOSATTRIB; a field that the blob does not carry is None."""

    def __init__(self):
        self.version = None
        self.attributes = None
        self.create = None
        self.change = None


def dosattrib(path):
    found = Dosattrib()
    try:
        blob = os.getxattr(path, DOSATTRIB)
    except OSError:
        return found
    decoded = ndr_unpack(xattr.DOSATTRIB, blob)
    found.version = decoded.version
    info = decoded.info
    valid = getattr(info, 'valid_flags', 0)
    if valid & VALID_ATTRIBUTES:
        found.attributes = info.attrib
    if valid & VALID_CREATE_TIME:
        found.create = info.create_time
    if valid & VALID_CHANGE_TIME:
        found.change = getattr(info, 'change_time', None)
    return found


def set_samba4_dosattrib(path, attributes, create, change, size=0):
    """The user.DosAttrib that Samba4's ntvfs wrote."""
    blob = xattr.DosAttrib()
    blob.version = 1
    info = xattr.DosInfo1()
    info.attrib = attributes
    info.ea_size = 0
    info.size = size
    info.alloc_size = size
    info.create_time = create
    info.change_time = change
    blob.info = info
    os.setxattr(path, 'user.DosAttrib', ndr_pack(blob))


def set_samba4_streams(path, streams):
    """user.DosStreams and its xattrs; {':name:$DATA': bytes}."""
    listing = xattr.DosStreams()
    entries = []
    for name, data in streams.items():
        entry = xattr.DosStream()
        entry.flags = 0
        entry.size = len(data)
        entry.alloc_size = len(data)
        entry.name = name
        entries.append(entry)
        os.setxattr(path, STREAM + name, data)
    listing.num_streams = len(entries)
    listing.streams = entries
    os.setxattr(path, 'user.DosStreams', ndr_pack(listing))


def set_ntacl_version_1(path, descriptor):
    """security.NTACL as Samba4's ntvfs wrote it: version 1, plain."""
    acl = xattr.NTACL()
    acl.version = 1
    acl.info = descriptor
    os.setxattr(path, NTACL, ndr_pack(acl))


def descriptor(sddl):
    """A raw self-relative security descriptor from SDDL.

    Samba's own bindings before 4.18 take FA for 0x1ff: it goes in as a
    number here.
    """
    sddl = sddl.replace(';FA;', ';0x1f01ff;')
    parsed = security.descriptor.from_sddl(
        sddl, security.dom_sid('S-1-5-21-1-2-3'))
    return ndr_pack(parsed)


def parse_descriptor(raw):
    return ndr_unpack(security.descriptor, raw)


def pack_descriptor(parsed):
    return ndr_pack(parsed)
