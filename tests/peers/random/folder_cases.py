"""Kind `folders`: class folders as torchvision's ImageFolder lists them: classes, files and labels.

Where multicard leaves files out or orders classes otherwise, it must say so and name one of them.
"""

import os

from torchvision.datasets import ImageFolder

from cases import DIFFERENT, EQUAL, PEER_REFUSES, REFUSED, SAID, Kind, Program, Verdict

CLASSES = ["a", "b", "B", "cat", "Cat", "cat-2", "10", "9", "09", "1", "-1", "1a", "é", "中", "a b", "z.png", "_x", "Ü"]
NUMBERS = ["0", "1", "2", "3", "10", "11", "9", "007", "7", "100", "20"]
STEMS = ["1", "2", "10", "x", "X", "é", "a b", "a.b", "-", "photo(1)", "00", "~"]
ENDINGS = [".png", ".PNG", ".jpg", ".Jpeg", ".JPEG", ".jpg"]
OTHER_ENDINGS = [".webp", ".bmp", ".tif", ".jfif", ".gif", ".txt", ".json", "", ".png.bak", ".ppm", ".heic", ".pgm"]


def file_name(draw):
    return draw.choice(STEMS) + draw.choice(ENDINGS if draw.random() < 0.98 else OTHER_ENDINGS)


def odd_entry(draw, classes):
    """Something besides pictures in folders of classes: [path, what], `what` as make() takes it."""
    one, other = draw.choice(classes), draw.choice([*classes[1:], "other"])  # a class may not lead to itself
    return draw.choice([
        [f"{one}/{draw.choice(STEMS)}/{file_name(draw)}", "file"], [file_name(draw), "file"],
        [f"{one}/.{file_name(draw)}", "file"], [f".hidden/{file_name(draw)}", "file"], [f"{one}/.cache/1.png", "file"],
        [f"{one}/{file_name(draw)}", "gone"], [f"{classes[0]}/l{file_name(draw)}", f"../{other}"],
        [f"{one}/deep.png", "folder"], [f"linked{draw.randrange(3)}", one], ["empty", "folder"], [".empty", "folder"],
        [f"{one}/link.png", "1.png"], ["lost", "gone"], [f"{one}/inner", "folder"], [f"{classes[0]}/to", f"../{other}"],
        [f"{one}/1.png", "file"]])


def make(folder, entries):
    """Files, folders and links; `what` is file, folder, gone (a link to nothing) or where a link leads."""
    for path, what in entries:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if what == "folder":
            place.mkdir(exist_ok=True)
        elif not os.path.lexists(place):
            if what == "file":
                place.write_bytes(b"x")
            else:
                place.symlink_to("nowhere.png" if what == "gone" else what)


class Folders(Kind):
    """The lists of classes and files."""
    name = "folders"

    def __init__(self):
        self.program = Program(os.environ["MULTICARD_PEER_IMAGES"])

    def close(self):
        self.program.close()

    def draw(self, draw):
        pool = draw.choice([CLASSES, CLASSES, NUMBERS])
        classes = draw.sample(pool, draw.randint(1, 5))
        entries = [[f"{one}/{file_name(draw)}", "file"] for one in classes for _ in range(draw.randint(1, 4))]
        entries += [[f"{one}/1.png", "file"] for one in classes if draw.random() < 0.8]
        entries += [odd_entry(draw, classes) for _ in range(draw.choice([0, 0, 0, 0, 1, 2]))]
        return {"entries": entries}

    def judge(self, case, folder):
        make(folder, case.get("entries", []))
        answer, log = self.program.ask(folder=str(folder))
        if "crash" in answer:
            return Verdict(DIFFERENT, answer["crash"])
        if "error" in answer:
            return self.refused(answer["error"], folder)
        try:
            listed = ImageFolder(folder)
        except (FileNotFoundError, OSError) as error:
            return Verdict(PEER_REFUSES, type(error).__name__)
        theirs = [[os.path.relpath(path, folder), listed.classes[label]] for path, label in listed.samples]
        ours = [[path, answer["classes"][label]] for path, label in answer["files"]]
        return self.compared(answer["classes"], ours, listed.classes, theirs, log)

    @staticmethod
    def refused(message, folder):
        """A refusal must name the folder, or something in it."""
        return Verdict(REFUSED if str(folder) in message else DIFFERENT, message)

    @staticmethod
    def compared(classes, ours, their_classes, theirs, log):
        if classes == their_classes and ours == theirs:
            return Verdict(EQUAL)
        if any(one not in theirs for one in ours):
            return Verdict(DIFFERENT, f"{[one for one in ours if one not in theirs]} are not in ImageFolder")
        left_out = [path for path, _ in theirs if [path, _] not in ours]
        if left_out and not any(os.path.basename(path) in log or os.path.dirname(path) in log for path in left_out):
            return Verdict(DIFFERENT, f"left out: {left_out[:9]} are silently left out: {log}")
        if classes != [one for one in their_classes if one in classes] and "number" not in log:
            return Verdict(DIFFERENT, f"classes {classes}, in ImageFolder {their_classes}: {log}")
        return Verdict(SAID, log)


KIND = Folders
