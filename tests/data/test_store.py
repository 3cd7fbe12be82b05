import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from acdnet.data.store import Store, decode_hu, decode_lines, encode_hu, encode_lines, pack_slice, read_manifest
from acdnet.errors import InputRefused
from acdnet.files import sha256
from acdnet.physics.phantom import make_phantom
from acdnet.physics.simulate import simulate

PHANTOM = make_phantom("head", 0, 64)
METAL = np.zeros((64, 64), bool)
METAL[20:23, 30:34] = True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("store")
    (made / "slices").mkdir()
    pairs = [simulate(PHANTOM.hu, mask, seed=n) for n, mask in enumerate((METAL, METAL.T))]
    data = pack_slice(pairs, sinograms=True, fitted=[pair.li + np.float32(9.0) for pair in pairs])
    with pytest.raises(ValueError, match="1 images"):
        pack_slice(pairs, sinograms=True, fitted=[pairs[0].li])
    (made / "slices/a.safetensors").write_bytes(data)
    entry = {"file": "slices/a.safetensors", "sha256": sha256(data), "patient": "p", "split": "val", "pairs": [{}, {}]}
    (made / "manifest.json").write_text(json.dumps({"format": 1, "size": 64, "slices": [entry]}))
    return made


def test_round_trip(folder: Path) -> None:
    store = Store(folder)
    assert store.select("val") == [(0, 0), (0, 1)]
    assert store.select("train") == []
    for k, mask in enumerate((METAL, METAL.T)):
        made, pair = simulate(PHANTOM.hu, mask, seed=k), store.pair(0, k)
        assert np.array_equal(pair.metal, mask)
        for name in ("clean", "corrupted", "li"):
            difference = getattr(pair, name) - np.clip(getattr(made, name), -6592, 9791.75)
            assert np.abs(difference).max() <= 0.126
        with pytest.raises(KeyError):
            pair.first("nmar")
        np.testing.assert_allclose(pair.first("tracefit"), pair.first("li") + 9.0, atol=0.26)
        sinogram = store.sinogram(0, k)
        assert sinogram is not None
        assert np.abs(sinogram - made.sinogram).max() <= 0.51 / 4096
    store.verify()


def test_patches_are_parts_of_the_whole(folder: Path) -> None:
    store = Store(folder)
    whole, part = store.pair(0, 1), store.pair(0, 1, slice(10, 42), slice(7, 39))
    for name in ("clean", "corrupted", "li", "metal", "tracefit"):
        assert np.array_equal(getattr(part, name), getattr(whole, name)[10:42, 7:39])


@given(arrays(np.float32, 20, elements=st.floats(-6592, 9791, width=32)))
def test_sixteen_bits_keep_an_eighth_of_a_hu(hu: Any) -> None:
    assert np.abs(decode_hu(encode_hu(hu)) - hu).max() <= 0.126


def test_values_outside_the_range_end_at_its_ends() -> None:
    assert decode_hu(encode_hu(np.array([-1e6, 1e6]))).tolist() == [-6592.0, 9791.75]
    assert decode_lines(encode_lines(np.array([-5.0, 99.0]))).tolist() == [-1.0, pytest.approx(15, abs=1e-3)]


def spoil(folder: Path, to: Path, **changes: Any) -> Path:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["slices"][0] |= changes
    (to / "manifest.json").write_text(json.dumps(manifest))
    return to


def test_f52_bad_manifests_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="outside the store"):
        read_manifest(spoil(folder, tmp_path, file="../../etc/passwd"))
    with pytest.raises(InputRefused, match="lacks"):
        read_manifest(spoil(folder, tmp_path, pairs=None))
    with pytest.raises(InputRefused, match="misses this file"):
        Store(spoil(folder, tmp_path, file="slices/none.safetensors")).pair(0, 0)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputRefused, match="JSON"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(InputRefused, match="format"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(InputRefused, match="has not finished"):
        read_manifest(tmp_path)


def test_f52_a_changed_file_is_noticed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "slices").mkdir()
    data = bytearray((folder / "slices/a.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "slices/a.safetensors").write_bytes(data)
    with pytest.raises(InputRefused, match="hash differs"):
        Store(spoil(folder, tmp_path)).verify()


def test_f52_a_patient_in_two_splits_is_refused(folder: Path, tmp_path: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["slices"].append(manifest["slices"][0] | {"split": "train"})
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputRefused, match="in val and in train"):
        Store(tmp_path).select("train")
