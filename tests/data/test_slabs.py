from dataclasses import replace
from functools import partial
from pathlib import Path

import nibabel
import numpy as np
import pytest

from acdnet.data.build import build
from acdnet.data.recipe import Recipe
from acdnet.data.slabs import group_slabs, read_slab, shifts
from acdnet.data.slices import SliceRef
from acdnet.data.sources import open_source
from acdnet.data.store import Store
from acdnet.errors import ConfigError
from acdnet.io.slices import Slice
from acdnet.physics.phantom import make_phantom
from acdnet.units import Image
from tests.data.make import one_process
from tests.data.test_build import contents
from tests.data.test_sources import index, picture, write_png
from tests.io.dicom.make import write_slice

SLAB = Recipe("clinical", pairs=2, size=96, slab=4, tracefit=True)


def ref(z: float | None, step: float = 0.0, stack: str = "s", patient: str = "p") -> SliceRef:
    name = f"{patient}-{stack}-{z}"
    return SliceRef(
        name, patient, "train", partial(given, np.zeros((4, 4), np.float32)), stack=stack, z_mm=z, step_mm=step
    )


def given(hu: Image) -> Slice:
    return Slice(hu, (2.0, 2.0))


def heights(slabs: list[list[SliceRef]]) -> list[list[float | None]]:
    return [[one.z_mm for one in slab] for slab in slabs]


def test_neighbours_form_slabs_of_nearly_equal_number() -> None:
    rows = [ref(3.27 * k, 3.27) for k in range(10)]
    assert sorted(len(slab) for slab in group_slabs(rows, 4)) == [3, 3, 4]
    assert heights(group_slabs(rows[::-1], 10)) == [[3.27 * k for k in range(10)]]


def test_gaps_other_stacks_and_unknown_heights_part_slabs() -> None:
    rows = [ref(0, 1), ref(1, 1), ref(3, 1), ref(4, 1), ref(5, 1, "t"), ref(None), ref(None)]
    assert heights(group_slabs(rows, 8)) == [[0, 1], [3, 4], [5], [None], [None]]
    uneven = [ref(0), ref(2.5), ref(5), ref(10), ref(15)]  # without a stated distance
    assert heights(group_slabs(uneven, 8)) == [[0, 2.5, 5], [10, 15]]
    assert len(group_slabs([ref(0, 1), ref(0, 1, patient="q"), ref(1, 1)], 8)) == 2


def crop(hu: Image, row: int, column: int) -> Image:
    return hu[row : 190 + row, column : 195 + column - row]


def test_cropped_neighbours_are_aligned() -> None:
    images = [make_phantom("pelvis", 1, 208, 0.1 * k).hu for k in range(4)]
    corners = [(3, 4), (0, 9), (8, 0), (5, 5)]
    cropped = [crop(hu, *corner) for hu, corner in zip(images, corners, strict=True)]
    found = np.array(shifts(cropped))
    assert np.abs(found - (np.array(corners) - corners[0])).max() <= 1


def test_a_slab_is_read_onto_one_canvas() -> None:
    images = [make_phantom("pelvis", 1, 208, 0.1 * k).hu for k in range(3)]
    corners = [(3, 4), (0, 9), (8, 0)]
    rows = [
        replace(ref(k, 1), read=partial(given, crop(hu, *corner)), cropped=True)
        for k, (hu, corner) in enumerate(zip(images, corners, strict=True))
    ]
    _, stack, mm = read_slab(rows, 96)
    assert stack.shape == (3, 96, 96)
    assert mm == pytest.approx(2 * 203 / 96, rel=0.02)
    assert np.abs(stack[1] - stack[0]).mean() < 40
    apart = [replace(one, cropped=False, read=rows[0].read) for one in rows]
    assert np.array_equal(*read_slab(apart, 96)[1][:2])


def make(out: Path, recipe: Recipe = SLAB) -> Path:
    with one_process():
        list(build(open_source("phantom", 2, slab=4), recipe, out))
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("slabs") / "one")


def test_a_store_gives_slabs_and_single_slices(made: Path) -> None:
    store = Store(made)
    store.verify()
    assert [len(numbers) for numbers in store.slabs] == [4, 4]
    slab = store.slab(1, 1, slice(8, 72), slice(16, 80))
    assert slab.clean.shape == slab.metal.shape == (4, 64, 64)
    assert slab.tracefit is not None
    for k, n in enumerate(store.slabs[1]):
        single = store.pair(n, 1, slice(8, 72), slice(16, 80))
        assert np.array_equal(slab.corrupted[k], single.corrupted)
        assert np.array_equal(slab.metal[k], single.metal)
        assert single.tracefit is not None
        assert np.array_equal(slab.tracefit[k], single.tracefit)
    assert store.manifest["slab"] == 4


def test_a_slab_has_one_implant_and_one_scanner(made: Path) -> None:
    store = Store(made)
    for numbers in store.slabs:
        entries = [store.slices[n] for n in numbers]
        assert [entry["z_mm"] for entry in entries] == [0.0, 3.0, 6.0, 9.0]
        for k in range(2):
            pairs = [entry["pairs"][k] for entry in entries]
            same = ("kind", "metal", "views", "mas", "source_cm", "kernel", "ceiling_hu")
            assert len({tuple(pair[key] for key in same) for pair in pairs}) == 1
            assert max(pair["metal_pixels"] for pair in pairs) > 0
    one, other = (store.slices[store.slabs[0][0]]["pairs"][k] for k in range(2))
    assert one["source_cm"] == other["source_cm"]


def test_slices_without_metal_are_clean(made: Path) -> None:
    store = Store(made)
    for n, entry in enumerate(store.slices):
        for k, pair in enumerate(entry["pairs"]):
            read = store.pair(n, k)
            if pair["metal_pixels"] == 0:
                assert np.array_equal(read.li, read.corrupted)


def test_a_repeated_run_is_the_same_and_views_count(made: Path, tmp_path: Path) -> None:
    assert contents(make(tmp_path / "two")) == contents(made)
    finer = Store(make(tmp_path / "finer", replace(SLAB, views=1280)))
    assert finer.manifest["views"] == 1280
    store, n = Store(made), int(np.argmax([entry["pairs"][0]["metal_pixels"] for entry in Store(made).slices]))
    assert np.array_equal(finer.pair(n, 0).corrupted, store.pair(n, 0).corrupted)
    assert not np.array_equal(finer.pair(n, 0).li, store.pair(n, 0).li)


def test_heights_come_from_the_index_and_from_volumes(tmp_path: Path) -> None:
    for k in range(3):
        write_png(tmp_path / f"p/{k}.png", picture(k))
    rows = [f"p/{k}.png,p,train,0.7,{1.5 * k},1.5" for k in range(3)]
    index(tmp_path, *rows, header="file,patient,split,pixel_mm,z_mm,thickness_mm")
    assert heights(group_slabs(open_source(str(tmp_path)).slices, 8)) == [[0, 1.5, 3.0]]
    folder = tmp_path / "volume"
    folder.mkdir()
    nibabel.Nifti1Image(np.zeros((8, 8, 5), np.int16), np.diag([1, 1, 2.5, 1])).to_filename(folder / "a.nii.gz")
    assert heights(group_slabs(open_source(str(folder)).slices, 3)) == [[0, 2.5], [5.0, 7.5, 10.0]]


def test_heights_come_from_dicom(tmp_path: Path) -> None:
    for k in range(3):
        tags = {"ImagePositionPatient": [0, 0, 4.0 * k], "SOPInstanceUID": f"1.2.3.4.{k}"}
        write_slice(tmp_path / f"{k}.dcm", picture(k), **tags)
    assert [len(slab) for slab in group_slabs(open_source(str(tmp_path)).slices, 8)] == [3]


@pytest.mark.parametrize(
    "wrong", [{"protocol": "syndeeplesion", "tracefit": False}, {"shapes": "a.npy"}, {"sinograms": True}, {"slab": 65}]
)
def test_what_slabs_cannot_have_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        replace(SLAB, **wrong)  # type: ignore[arg-type]
