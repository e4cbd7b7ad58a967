# SPDX-License-Identifier: MIT
"""_forbid_reading.py COMMAND...: runs it where process_vm_readv fails with EPERM, as it does
where the kernel does not let the memory of other processes be read. Status 77: it cannot be
forbidden here.
"""
import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBERS = {"x86_64": 310, "aarch64": 270}


def main():
    number = NUMBERS.get(platform.machine())
    if number is None:
        sys.exit(77)
    code = b"".join(struct.pack("<HBBI", *line) for line in (
        (LOAD, 0, 0, 0), (EQUAL, 0, 1, number), (RETURN, 0, 0, 0x00050000 | errno.EPERM),
        (RETURN, 0, 0, 0x7FFF0000)))
    lines = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(lines))
    holder = ctypes.create_string_buffer(program, len(program))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(holder), 0, 0) != 0:
        sys.exit(77)
    os.execv(sys.argv[1], sys.argv[1:])


main()
