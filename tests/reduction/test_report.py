from acdnet.reduction.report import cautions
from acdnet.reduction.slice_report import SliceReport


def test_slices_with_the_same_caution_share_a_line() -> None:
    records = [SliceReport(n, "reduced", 5, far_change_hu=20.0 + n, soft_shift_hu=-12.0) for n in (1, 2, 3, 5)]
    records += [SliceReport(4, "unchanged"), SliceReport(6, "passed through", 9, saturated=True, reason="edge")]
    assert cautions(records) == [
        "slice 6 not reduced: edge",
        "slices 1-3, 5: tissue more than 5 cm from metal changed by 21 to 25 HU on average",
        "slices 1-3, 5: soft tissue shifted by -12 HU on average",
        "slice 6: metal is clipped (at 3071 HU or at the largest value that the images can store)",
    ]


def test_a_slice_report_becomes_json() -> None:
    values = SliceReport(2, "reduced", 5, mean_change_hu=1.23456).to_dict()
    assert values["number"] == 2
    assert values["mean_change_hu"] == 1.23
    assert values["far_change_hu"] is None
