import numpy as np
import pytest

from autolab.datasets import digits, optical_digits
from autolab.datasets.optical_digits import arrays


def test_all_1797_digits_are_there_in_the_order_of_the_source():
    images, labels = arrays()
    assert images.shape == (1797, 8, 8) and labels.shape == (1797,)
    assert labels[:10].tolist() == list(range(10))
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_pixels_are_shares_of_ink():
    images, _ = arrays()
    assert images.dtype == np.float32
    assert images.min() == 0 and images.max() == 1
    assert np.array_equal(images * 16, np.round(images * 16))


def test_the_first_image_is_a_zero_with_a_hole():
    image = arrays()[0][0]
    assert (image[:, [0, 7]] == 0).all()
    assert image[3:5, 3:5].max() < 0.1 < image[3:5, [2, 5]].min()


def test_train_and_test_share_no_image_and_lose_none():
    everything, train, test = arrays()[0], arrays("train")[0], arrays("test")[0]
    assert len(train) == 1438 and len(test) == 359
    parts = {image.tobytes() for image in train}, {image.tobytes() for image in test}
    assert parts[0] | parts[1] == {image.tobytes() for image in everything}
    assert not parts[0] & parts[1]


def test_every_digit_is_held_out_in_the_same_proportion():
    share = np.bincount(arrays("test")[1]) / np.bincount(arrays()[1])
    assert share.min() > 0.19 and share.max() < 0.21


def test_every_stretch_of_the_file_is_held_out_in_proportion():
    # a stretch is about one writer
    held_out = optical_digits.held_out(arrays()[1])
    shares = [stretch.mean() for stretch in np.array_split(held_out, 13)]
    assert min(shares) > 0.15 and max(shares) < 0.25


def test_writing_into_the_images_spoils_nothing():
    arrays()[0][:] = -1
    assert arrays()[0].min() == 0


def test_an_unknown_split_says_which_ones_there_are():
    with pytest.raises(ValueError, match=r"'validation'.*'train', 'test' or None"):
        arrays("validation")


def test_the_source_and_the_licence_stand_beside_the_data():
    text = optical_digits.FILE.with_name("README.md").read_text()
    assert "Alpaydin" in text and "10.24432/C50P49" in text and "CC BY 4.0" in text


def test_digits_come_as_tensors_that_a_network_can_take():
    images, labels = digits("test")
    assert str(images.dtype) == "torch.float32"
    assert str(labels.dtype) == "torch.int64"
    assert images.shape == (359, 8, 8)
    assert not images.requires_grad
