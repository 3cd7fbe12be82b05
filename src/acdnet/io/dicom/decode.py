"""Decode compressed pixels in a process of their own.

A damaged stream can make a decoder crash, hang, fill the memory or print to the terminal; all that ends with the
process. It is started for the first compressed slice and decodes all others.

A request is the length of its tags as JSON, the length of the stream, and both; the answer a flag, a length, and an
array (.npy) or the reason why there is none.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from io import BytesIO
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

TAGS = (
    "Rows", "Columns", "SamplesPerPixel", "PhotometricInterpretation", "BitsAllocated", "BitsStored", "HighBit",
    "PixelRepresentation", "PlanarConfiguration", "NumberOfFrames",
)  # fmt: skip
"""What decoders need besides the stream."""
SECONDS = 60.0
MEMORY = 3 * 2**29
"""Bytes that a decoder may use; the largest slice has 4096 x 4096 pixels."""
SIZES = struct.Struct("<QQ")


class DecodingFailed(Exception):
    """The stream cannot be decoded."""


class _Decoder:
    """The process that decodes for this one."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "acdnet.io.dicom.decode"]
        self.process = subprocess.Popen(  # noqa: S603 this file
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.owner = os.getpid()
        atexit.register(self.end)

    def ask(self, tags: bytes, stream: bytes) -> tuple[bool, bytes]:
        """Return whether the stream was decoded, and the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        watch = threading.Timer(SECONDS, self.process.kill)
        watch.start()
        try:
            for part in (SIZES.pack(len(tags), len(stream)), tags, stream):
                self.process.stdin.write(part)
            self.process.stdin.flush()
            good, size = SIZES.unpack(_read(self.process.stdout, SIZES.size))
            return bool(good), _read(self.process.stdout, size)
        except (OSError, EOFError) as error:
            self.end()
            raise DecodingFailed("the decoder crashed, or used too much time or memory") from error
        finally:
            watch.cancel()

    def end(self) -> None:
        """End the process; a process that was forked from the owner only forgets it."""
        atexit.unregister(self.end)
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]


_lock = threading.Lock()
_decoder: _Decoder | None = None


def decode(dataset: Any) -> NDArray[Any]:
    """Return the pixels of a compressed data set."""
    global _decoder
    known = {tag: dataset[tag].value for tag in TAGS if tag in dataset}
    tags = {tag: value if isinstance(value, int) else str(value) for tag, value in known.items()}
    request = json.dumps({"syntax": str(dataset.file_meta.TransferSyntaxUID), "tags": tags}).encode()
    with _lock:
        if _decoder is None or _decoder.owner != os.getpid() or _decoder.process.poll() is not None:
            _decoder = _Decoder()
        good, answer = _decoder.ask(request, bytes(dataset.PixelData))
    if not good:
        raise DecodingFailed(answer.decode(errors="replace"))
    return np.asarray(np.load(BytesIO(answer), allow_pickle=False))


def _read(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _pixels(request: Any, stream: bytes) -> NDArray[Any]:
    from pydicom.dataset import Dataset, FileMetaDataset

    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = request["syntax"]
    for tag, value in request["tags"].items():
        setattr(dataset, tag, value)
    dataset.PixelData = stream
    dataset["PixelData"].is_undefined_length = True
    return np.asarray(dataset.pixel_array)


def _limit_memory() -> None:
    """Limit what this process may use, where the system supports it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


def main() -> None:
    """Answer requests until there are no more."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # decoders that print would disturb the answers
    _limit_memory()
    while len(head := requests.read(SIZES.size)) == SIZES.size:
        sizes = SIZES.unpack(head)
        request, stream = (_read(requests, size) for size in sizes)
        try:
            buffer = BytesIO()
            np.save(buffer, _pixels(json.loads(request), stream), allow_pickle=False)
            good, answer = 1, buffer.getvalue()
        except (Exception, RecursionError) as error:
            good, answer = 0, f"{type(error).__name__}: {str(error)[:200]}".encode(errors="replace")
        answers.write(SIZES.pack(good, len(answer)) + answer)
        answers.flush()


if __name__ == "__main__":
    main()
