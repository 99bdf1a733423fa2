"""Kind `images`: files as Pillow reads them, turned upright by its exif_transpose and in RGB, and resized by it."""

import os
import warnings

from PIL import Image, ImageOps

from cases import DIFFERENT, EQUAL, PEER_REFUSES, REFUSED, Kind, Program, Verdict
from image_files import draw_file, file_of


def peer_picture(path):
    """As torchvision's default loader, and upright. Of greys of 16 bits, which Pillow cuts at 255, the upper byte."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(path) as image:
            upright = ImageOps.exif_transpose(image)
            if upright.mode == "I;16":
                upright = Image.frombytes("L", upright.size, upright.tobytes()[1::2])
            return upright.convert("RGB")


def own_picture(answer):
    height, width, channels = answer["shape"]
    image = Image.frombytes("L" if channels == 1 else "RGB", (width, height), bytes.fromhex(answer["pixels"]))
    return image


def largest_difference(one, other):
    return max((abs(a - b) for a, b in zip(one, other)), default=0)


class Images(Kind):
    """The decoder of files, and resizing."""
    name = "images"

    def __init__(self):
        self.program = Program(os.environ["MULTICARD_PEER_IMAGES"])

    def close(self):
        self.program.close()

    def draw(self, draw):
        return draw_file(draw)

    def judge(self, case, folder):
        path = folder / f"picture.{case.get('ending', 'png')}"
        path.write_bytes(file_of(case))
        size = case.get("resize", 4)
        answer, _ = self.program.ask(file=str(path), size=size)
        if "crash" in answer:
            return Verdict(DIFFERENT, answer["crash"])
        if "error" in answer:
            is_named = path.name in answer["error"]
            return Verdict(REFUSED if is_named else DIFFERENT, answer["error"])
        try:
            theirs = peer_picture(path)
        except Exception as error:  # pylint: disable=broad-except  # Pillow's plugins raise many types
            return Verdict(PEER_REFUSES, f"{type(error).__name__}: {error}")
        return self.compared(answer, theirs, size)

    @staticmethod
    def compared(answer, theirs, size):
        if answer["head"] != answer["shape"]:
            return Verdict(DIFFERENT, f"the head gives {answer['head']}, the pixels {answer['shape']}")
        ours = own_picture(answer)
        if ours.size != theirs.size:
            return Verdict(DIFFERENT, f"{ours.size} here, {theirs.size} in Pillow")
        if (largest := largest_difference(ours.convert("RGB").tobytes(), theirs.tobytes())) > 0:
            return Verdict(DIFFERENT, f"pixels differ by up to {largest}")
        resized = ours.resize((size, size), Image.Resampling.BILINEAR).tobytes()
        if (largest := largest_difference(bytes.fromhex(answer["resized"]), resized)) > 1:
            return Verdict(DIFFERENT, f"resized pixels differ by up to {largest}")
        return Verdict(EQUAL)


KIND = Images
