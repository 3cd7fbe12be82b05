"""Damage to bytes, numbers and texts, drawn from a generator with a seed."""

import random
from collections.abc import Callable

NUMBERS = (0, 1, 2, 3, 7, 8, 16, 255, 256, 4097, 32767, 32768, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
"""Where counters and lengths overflow."""
REALS = (
    "0",
    "-0",
    "1",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "1e-308",
    "1e999",
    "0x10",
    "1_0",
    "1,5",
    "9" * 400,
)
WORDS = (
    "",
    " ",
    "\0",
    "\x1b[2J\x07",
    "../../../etc/passwd",
    "a" * 5000,
    "日本",
    "\u202e",
    "\ud800",
    "None",
    "\\",
    "1\\2",
)


def text(rng: random.Random) -> str:
    """Return a text that may be a number, a path, or neither."""
    return rng.choice((*REALS, *WORDS, str(rng.choice(NUMBERS)), "".join(chr(rng.randrange(256)) for _ in range(20))))


def noise(rng: random.Random, longest: int = 64) -> bytes:
    return rng.randbytes(rng.randrange(longest))


def flip(data: bytearray, rng: random.Random) -> None:
    """Change bits of one byte."""
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwrite(data: bytearray, rng: random.Random) -> None:
    """Overwrite one byte, or a field of two, four or eight bytes."""
    size = rng.choice((1, 2, 4, 8))
    at = rng.randrange(max(len(data) - size, 0) + 1)
    value = rng.choice(NUMBERS) % 256**size
    data[at : at + size] = value.to_bytes(size, rng.choice(("little", "big")))


def cut(data: bytearray, rng: random.Random) -> None:
    """Cut the end off, or take a piece out."""
    start = rng.randrange(len(data) + 1)
    del data[start : rng.choice((len(data), start + rng.randrange(64)))]


def insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = noise(rng)


def repeat(data: bytearray, rng: random.Random) -> None:
    """Repeat a piece, up to many times."""
    start = rng.randrange(len(data) + 1)
    piece = bytes(data[start : start + rng.randrange(64)])
    data[start:start] = piece * rng.choice((1, 2, 100))


def swap(data: bytearray, rng: random.Random) -> None:
    """Copy one piece over another."""
    size = rng.randrange(64)
    source, target = (rng.randrange(len(data) + 1) for _ in range(2))
    data[target : target + size] = data[source : source + size]


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip, flip, overwrite, overwrite, overwrite, cut, insert, repeat, swap,
)  # fmt: skip


def damaged(data: bytes, rng: random.Random, head: int = 0) -> bytes:
    """Return data with one to four damages, mostly within its first `head` bytes if these are given."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        within = head if head and rng.random() < 0.8 else len(data)
        part = bytearray(data[:within])
        rng.choice(DAMAGES)(part, rng)
        data = bytes(part) + data[within:]
    return data
