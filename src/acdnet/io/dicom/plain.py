"""Recognise DICOM files by their first bytes, also those of radiotherapy systems that lack preamble and meta header."""

from __future__ import annotations

import struct

START_BYTES = 4096
"""Bytes of a file that decide what it is."""
PREAMBLE = 128
ELEMENT = struct.Struct("<HHI")
IDENTIFYING_GROUP, SOP_CLASS_UID = 0x0008, 0x0016
MAX_LENGTH = 1024
"""Bytes of an element before the SOP class: a character set, an image type, dates."""


def has_preamble(start: bytes) -> bool:
    """Return whether a file begins with a preamble and the mark of DICOM."""
    return start[PREAMBLE : PREAMBLE + 4] == b"DICM"


def is_plain(start: bytes, sop_class: str) -> bool:
    """Return whether a file begins with the elements of an object, implicit little-endian, of the given class.

    The elements of group 0008 must be in order and of plausible even lengths up to the SOP class.
    """
    at, last = 0, -1
    while at + ELEMENT.size <= len(start):
        group, element, length = ELEMENT.unpack_from(start, at)
        value = start[at + ELEMENT.size : at + ELEMENT.size + length]
        if group != IDENTIFYING_GROUP or not last < element <= SOP_CLASS_UID or length % 2 or length > MAX_LENGTH:
            return False
        if element == SOP_CLASS_UID:
            return value.rstrip(b"\0 ") == sop_class.encode()
        at, last = at + ELEMENT.size + length, element
    return False
