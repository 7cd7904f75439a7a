# The ACL of a benchmark's share.
#
# Copyright (C) 2026 the ntvfs developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""An ACL for the top folder of a share, to be inherited by all below it.

Without one, stock Samba and ntvfs store no descriptor on new files, and full
NT metadata would not be full.
"""

import struct

import smb2_client

# Who, what, inherited by whom ([MS-DTYP] 2.4.4).
OBJECTS_AND_CONTAINERS, INHERIT_ONLY = 0x3, 0x8
FULL, MODIFY = 0x1f01ff, 0x1301bf
TOP_ACL = (
    ((5, 32, 544), FULL, OBJECTS_AND_CONTAINERS),             # Administrators
    ((5, 18), FULL, OBJECTS_AND_CONTAINERS),                  # SYSTEM
    ((3, 0), FULL, OBJECTS_AND_CONTAINERS | INHERIT_ONLY),    # CREATOR OWNER
    ((1, 0), MODIFY, OBJECTS_AND_CONTAINERS),                 # Everyone
)


def top_descriptor():
    """TOP_ACL as a self-relative security descriptor."""
    entries = b''
    for (authority, *numbers), mask, flags in TOP_ACL:
        sid = struct.pack('<BB6s%dL' % len(numbers), 1, len(numbers),
                          authority.to_bytes(6, 'big'), *numbers)
        entries += struct.pack('<BBHL', 0, flags, 8 + len(sid), mask) + sid
    acl = struct.pack('<BBHHH', 2, 0, 8 + len(entries), len(TOP_ACL), 0)
    # Self-relative, with a DACL that starts after the header.
    header = struct.pack('<BBH4L', 1, 0, 0x8004, 0, 0, 0, 20)
    return header + acl + entries


def set_top_acl(smbd, share, user_name):
    """Give the share's top folder TOP_ACL; raises smb2_client.NTError."""
    user = smbd.user(user_name)
    client = smb2_client.Client(smbd.client_address(), smbd.port, user.name,
                                user.password)
    try:
        with client.tree(share).open(
                '', access=smb2_client.WRITE_DAC,
                options=smb2_client.DIRECTORY_FILE) as top:
            top.set_security(top_descriptor())
    finally:
        client.close()
