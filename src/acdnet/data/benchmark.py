"""The files of the benchmark: a folder per slice with gt.h5 and one k.h5 per mask, and a list of the gt files.

    gt.h5   image, poly_CT, poly_sinogram                            without metal
    k.h5    ma_CT, LI_CT, ma_sinogram, LI_sinogram, metal_trace      with mask k

Images are in 1/cm. Files written here also contain the mask (`metal_mask`); the published masks are a (512, 512, n)
array, to be resized to 416.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.data.store import Pair
from acdnet.errors import InputRefused
from acdnet.physics.scanner import Simulation
from acdnet.units import Image, Mask, hu_from_mu, mu_from_hu

LIST = "list.txt"
LARGEST_SIDE = 8192


def clean_file(hu: Image, sinogram: Image, fbp_hu: Image) -> bytes:
    """Return gt.h5."""
    return _h5({"image": mu_from_hu(hu), "poly_CT": mu_from_hu(fbp_hu), "poly_sinogram": sinogram})


def pair_file(pair: Simulation) -> bytes:
    """Return k.h5."""
    return _h5(
        {
            "ma_CT": mu_from_hu(pair.corrupted),
            "LI_CT": mu_from_hu(pair.li),
            "ma_sinogram": pair.sinogram,
            "LI_sinogram": pair.li_sinogram,
            "metal_trace": pair.trace.astype(np.uint8),
            "metal_mask": pair.metal.astype(np.uint8),
        }
    )


def _h5(arrays: dict[str, NDArray[Any]]) -> bytes:
    import h5py

    buffer = BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, array in arrays.items():
            kept = array if array.dtype == np.uint8 else array.astype(np.float32)
            file.create_dataset(name, data=kept, compression="gzip", compression_opts=1, shuffle=True)
    return buffer.getvalue()


@dataclass(frozen=True)
class BenchmarkPair(Pair):
    """A pair of the benchmark in HU, with its sinograms."""

    sinogram: Image
    li_sinogram: Image
    trace: Mask


def read_images(gt: Path, k: int, masks: NDArray[np.uint8] | None = None) -> Pair:
    """Read mask k of the slice of a gt.h5; `masks` is the array of the published masks."""
    place = gt.parent / f"{k}.h5"
    clean = _read(gt, ("image",))["image"]
    found = _read(place, ("ma_CT", "LI_CT"), ("metal_mask",))
    _check_shapes(found, clean.shape, place)
    if "metal_mask" in found:
        metal = found["metal_mask"] > 0
    elif masks is None:
        raise InputRefused(f"{gt.parent}: published pairs need their array of masks (masks.npy)")
    elif k >= masks.shape[2]:
        raise InputRefused(f"{place}: needs mask {k}, but there are only {masks.shape[2]} masks")
    else:
        metal = resize_mask(masks[..., k], found["ma_CT"].shape[0])
    return Pair(hu_from_mu(clean), hu_from_mu(found["ma_CT"]), hu_from_mu(found["LI_CT"]), metal)


def read_pair(gt: Path, k: int, masks: NDArray[np.uint8] | None = None) -> BenchmarkPair:
    """Read mask k of a slice with its sinograms."""
    pair, place = read_images(gt, k, masks), gt.parent / f"{k}.h5"
    found = _read(place, ("ma_sinogram", "LI_sinogram", "metal_trace"))
    _check_shapes(found, found["ma_sinogram"].shape, place)
    p, p_li, trace = found["ma_sinogram"], found["LI_sinogram"], found["metal_trace"] > 0
    return BenchmarkPair(pair.clean, pair.corrupted, pair.li, pair.metal, p, p_li, trace)


def read_clean_sinogram(gt: Path) -> Image | None:
    """Read the sinogram without metal; None if the file has none."""
    return _read(gt, (), ("poly_sinogram",)).get("poly_sinogram")


def _check_shapes(found: dict[str, NDArray[Any]], shape: tuple[int, ...], place: Path) -> None:
    for name, array in found.items():
        if array.shape != shape:
            raise InputRefused(f"{place}: {name} has the shape {array.shape}; it must be {shape}")


def _read(path: Path, names: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
    import h5py

    if not path.is_file():
        raise InputRefused(f"{path}: no such file")
    try:
        with h5py.File(path, "r") as file:
            missing = [name for name in names if name not in file]
            if missing:
                raise InputRefused(f"{path}: has no {missing[0]!r}; is it a file of the benchmark?")
            there = [name for name in (*names, *optional) if name in file]
            for name in there:
                _check_dataset(file[name], f"{path}: {name}")
            found = {name: np.asarray(file[name]) for name in there}
    except OSError as error:
        raise InputRefused(f"{path}: cannot be read as HDF5 ({error})") from error
    for name, array in found.items():
        if not np.isfinite(array).all():
            raise InputRefused(f"{path}: {name} contains values that are not finite")
    return found


def _check_dataset(dataset: Any, name: str) -> None:
    """Refuse all but 2-D arrays of numbers before reading: a small file can claim any size."""
    shape, kind = getattr(dataset, "shape", None), getattr(getattr(dataset, "dtype", None), "kind", "")
    if shape is None or len(shape) != 2 or max(shape) > LARGEST_SIDE or min(shape) < 1 or kind not in "fu":
        raise InputRefused(f"{name} has the shape {shape}; it must be 2-D, numeric, with sides up to {LARGEST_SIDE}")


def list_name(split: str) -> str:
    """Return the name of the list of a split, for folders with several."""
    return f"list_{split}.txt"


def read_list(folder: Path, name: str = LIST) -> list[Path]:
    """Return the gt files in a list, one per line."""
    path = folder / name
    if not path.is_file():
        raise InputRefused(f"{path}: no such file; it must list the gt.h5 files, one per line")
    return [folder / line.strip() for line in path.read_text().splitlines() if line.strip()]


def resize_mask(mask: NDArray[Any], size: int) -> Mask:
    """Resize a mask like the benchmark: bilinear in 8 bits."""
    from PIL import Image as Picture

    picture = Picture.fromarray((np.asarray(mask) > 0).astype(np.uint8))
    return np.asarray(picture.resize((size, size), Picture.Resampling.BILINEAR)) > 0
