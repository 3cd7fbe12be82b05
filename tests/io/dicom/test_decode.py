"""Compressed pixels in a process of their own: the same pixels, and an end that harms nobody."""

import os
from typing import Any

import numpy as np
import pytest
from pydicom.uid import JPEG2000Lossless, JPEGLSLossless

from acdnet.io.dicom import decode as decoding
from acdnet.io.dicom.create import new_series
from acdnet.io.dicom.decode import DecodingFailed, decode
from tests.reduction.make import SPACING, body


def compressed(syntax: Any = JPEG2000Lossless) -> tuple[Any, Any]:
    """Return a compressed data set, and its pixels."""
    pytest.importorskip({JPEG2000Lossless: "openjpeg", JPEGLSLossless: "jpeg_ls"}[syntax])
    (dataset,) = new_series(body()[None], SPACING, "Secret")
    pixels = dataset.pixel_array.copy()
    dataset.compress(syntax, generate_instance_uid=False)
    return dataset, pixels


def process() -> Any:
    assert decoding._decoder is not None
    return decoding._decoder.process


@pytest.mark.parametrize("syntax", [JPEG2000Lossless, JPEGLSLossless])
def test_pixels(syntax: Any) -> None:
    dataset, pixels = compressed(syntax)
    found = decode(dataset)
    assert found.dtype == pixels.dtype
    assert np.array_equal(found, pixels)


def test_one_process_decodes_all_also_after_a_failure() -> None:
    dataset, pixels = compressed()
    decode(dataset)
    first, whole = process(), dataset.PixelData
    dataset.PixelData = whole[:60] + bytes(len(whole) - 60)
    with pytest.raises(DecodingFailed, match="Error"):
        decode(dataset)
    dataset.PixelData = whole
    assert np.array_equal(decode(dataset), pixels)
    assert process() is first


def test_a_decoder_that_crashed_is_replaced() -> None:
    dataset, pixels = compressed()
    decode(dataset)
    first = process()
    first.kill()
    first.wait()
    assert np.array_equal(decode(dataset), pixels)
    assert process() is not first


def test_a_decoder_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, pixels = compressed()
    decode(dataset)
    first = process()
    os.kill(first.pid, 19)  # SIGSTOP
    monkeypatch.setattr(decoding, "SECONDS", 0.2)
    with pytest.raises(DecodingFailed, match="too much time"):
        decode(dataset)
    monkeypatch.undo()
    assert first.poll() is not None
    assert np.array_equal(decode(dataset), pixels)


def test_f69_a_decoder_has_a_limit_of_memory() -> None:
    """A limit set from outside on the running process: it refuses, and goes on."""
    resource = pytest.importorskip("resource")
    dataset, pixels = compressed()
    decode(dataset)
    soft, hard = resource.prlimit(process().pid, resource.RLIMIT_DATA)
    assert soft <= decoding.MEMORY
    big = new_series(np.zeros((1, 2048, 2048), np.float32), SPACING, "Secret")[0]
    big.compress(JPEG2000Lossless, generate_instance_uid=False)
    resource.prlimit(process().pid, resource.RLIMIT_DATA, (1, hard))
    with pytest.raises(DecodingFailed, match=r"memory|Error"):
        decode(big)
    if process().poll() is None:
        resource.prlimit(process().pid, resource.RLIMIT_DATA, (soft, hard))
    assert np.array_equal(decode(dataset), pixels)
