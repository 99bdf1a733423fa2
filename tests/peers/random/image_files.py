"""Image files from the cases of the kind `images`."""

import io
import random
import struct
import zlib

from PIL import Image

from png_writer import CHANNELS, DEPTHS, chunk, png_bytes

# Whole numbers of TIFF: their struct codes. Pillow takes numbers of type 1 for texts, multicard for numbers.
EXIF_TYPES = {3: "H", 4: "I", 6: "b", 8: "h", 9: "i"}
XMP = ('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
       '<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" {}/></rdf:RDF></x:xmpmeta>')
SIDE_CHUNKS = ["gAMA", "sRGB", "pHYs", "tEXt", "bKGD", "sBIT", "cHRM", "tIME"]
OTHER_FORMATS = ("GIF", "BMP", "WEBP", "TIFF", "PPM")


def draw_exif(draw):
    return {"value": draw.choice([1, 2, 3, 4, 5, 6, 7, 8, 6, 8, 3, 0, 9]), "type": draw.choice([3, 3, 3, 4, 6, 8, 9]),
            "big": draw.random() < 0.5, "others": draw.randrange(3),
            "place": draw.choice(["before", "before", "after", "xmp", "profile"])}


def draw_damage(draw):
    return draw.choice([{"cut": draw.random()}, {"cut": draw.random()}, {"flip": [draw.random(), draw.randrange(8)]},
                        {"flip": [draw.random(), draw.randrange(8)]}, {"more": draw.randint(1, 40)}])


def draw_png(draw):
    colour = draw.choice(list(DEPTHS))
    return {"kind": "png", "colour": colour, "depth": draw.choice(DEPTHS[colour]), "interlaced": draw.random() < 0.3,
            "transparent": draw.random() < 0.3,
            "chunks": draw.sample(SIDE_CHUNKS, draw.choice([0, 0, 1, 3]))}


def draw_jpeg(draw):
    return {"kind": "jpeg", "mode": draw.choice(["RGB", "RGB", "RGB", "L", "CMYK"]), "quality": draw.randint(1, 100),
            "sampling": draw.randrange(3), "progressive": draw.random() < 0.3, "restart": draw.choice([0, 0, 1, 5]),
            "comment": draw.random() < 0.1}


def draw_file(draw):
    """A case: what the file is, its size, what is wrong with it, its name."""
    case = draw_png(draw) if draw.random() < 0.5 else draw_jpeg(draw)
    if draw.random() < 0.06:
        case = {"kind": "other", "format": draw.choice(OTHER_FORMATS)}
    case |= {"height": draw.choice([1, 2, 7, 8, 16, 17, 33, 60]), "width": draw.choice([1, 2, 5, 8, 16, 19, 40, 64]),
             "seed": draw.randrange(1000), "smooth": draw.random() < 0.5, "resize": draw.choice([1, 4, 9, 16, 32, 50])}
    if draw.random() < 0.35:
        case["exif"] = draw_exif(draw)
    if draw.random() < 0.2:
        case["damage"] = draw_damage(draw)
    ending = {"png": "png", "jpeg": draw.choice(["jpg", "jpeg"])}.get(case["kind"], "jpg")
    if draw.random() < 0.1:
        ending = draw.choice(["png", "jpg", "JPG", "Png"])
    return {**case, "ending": ending}


def exif_bytes(exif):
    """A TIFF header with a directory that has the orientation among other entries."""
    order = ">" if exif.get("big") else "<"
    kind = exif.get("type", 3)
    value = struct.pack(order + EXIF_TYPES[kind], exif.get("value", 6)).ljust(4, b"\0")
    entries = [struct.pack(order + "HHI", 0x0100 + i, 3, 1) + struct.pack(order + "HH", 77, 0)
               for i in range(exif.get("others", 0))]
    entries.append(struct.pack(order + "HHI", 0x0112, kind, 1) + value)
    return ((b"MM" if exif.get("big") else b"II") + struct.pack(order + "HIH", 42, 8, len(entries)) +
            b"".join(entries) + bytes(4))


def xmp_text(exif):
    return XMP.format(f'tiff:Orientation="{exif.get("value", 6)}"')


def png_exif(exif):
    """The chunks before and after the pixels."""
    if not exif:
        return b"", b""
    place, block = exif.get("place", "before"), exif_bytes(exif)
    if place == "xmp":
        return chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp_text(exif).encode()), b""
    if place == "profile":  # as ImageMagick writes it
        whole = b"Exif\0\0" + block
        text = f"\nexif\n{len(whole):8}\n{whole.hex()}\n".encode()
        return chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(text)), b""
    return (b"", chunk(b"eXIf", block)) if place == "after" else (chunk(b"eXIf", block), b"")


def side_chunks(case):
    """Chunks that do not change the pixels that Pillow reads; `transparent` is tRNS."""
    depth, colour = case.get("depth", 8), case.get("colour", 2)
    words = {0: 1, 2: 3, 3: 0, 4: 1, 6: 3}[colour]
    known = {"gAMA": struct.pack(">I", 45455), "sRGB": b"\0", "pHYs": struct.pack(">IIB", 2835, 2835, 1),
             "tEXt": b"Title\0a picture",
             "cHRM": struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000),
             "bKGD": struct.pack(f">{words}H", *[1] * words) if colour != 3 else b"\0",
             "sBIT": bytes([min(depth, 5)] * (CHANNELS[colour] if colour != 3 else 3)),
             "tIME": struct.pack(">HBBBBB", 2024, 7, 26, 1, 2, 3)}
    names = sorted(case.get("chunks", []), key=lambda name: name == "bKGD")
    early = b"".join(chunk(name.encode(), known[name]) for name in names if name != "bKGD")
    late = b"".join(chunk(name.encode(), known[name]) for name in names if name == "bKGD")
    if case.get("transparent") and colour in (0, 2, 3):
        late += chunk(b"tRNS", b"\x80\x00" if colour == 3 else bytes(2 * words))
    return early, late


def picture(case, channels, largest):
    """Rows of pixels: noise, or smooth."""
    draw = random.Random(case.get("seed", 0))
    height, width = case.get("height", 2), case.get("width", 3)
    slopes = [(draw.random(), draw.random()) for _ in range(channels)]

    def sample(y, x, slope):
        if not case.get("smooth"):
            return draw.randint(0, largest)
        return int(largest * (slope[0] * y / height + slope[1] * x / width) / 2)
    return [[[sample(y, x, slope) for slope in slopes] for x in range(width)] for y in range(height)]


def png_file(case):
    colour, depth = case.get("colour", 2), case.get("depth", 8)
    draw = random.Random(case.get("seed", 0))
    early, late = side_chunks(case)
    palette = b""
    if colour == 3:
        palette = chunk(b"PLTE", bytes(draw.randrange(256) for _ in range(3 * 2 ** depth)))
    before, after = png_exif(case.get("exif"))
    pixels = picture(case, CHANNELS[colour], 2 ** depth - 1)
    return png_bytes(pixels, colour, depth, draw, interlaced=case.get("interlaced", False),
                     before=early + palette + late + before, after=after)


def image_of(case, mode):
    pixels = picture(case, len(mode), 255)
    content = bytes(sample for row in pixels for pixel in row for sample in pixel)
    return Image.frombytes(mode, (len(pixels[0]), len(pixels)), content)


def jpeg_file(case):
    file, exif = io.BytesIO(), case.get("exif")
    options = {"quality": case.get("quality", 75), "subsampling": case.get("sampling", 0),
               "progressive": case.get("progressive", False), "restart_marker_blocks": case.get("restart", 0)}
    if exif and exif.get("place") == "xmp":
        options["xmp"] = xmp_text(exif).encode()
    elif exif:
        options["exif"] = b"Exif\0\0" + exif_bytes(exif)
    if case.get("comment"):
        options["comment"] = b"a comment"
    image_of(case, case.get("mode", "RGB")).save(file, "JPEG", **options)
    return file.getvalue()


def damaged(content, damage):
    if "cut" in damage:
        return content[:int(damage["cut"] * len(content))]
    if "flip" in damage:
        at = int(damage["flip"][0] * len(content))
        return content[:at] + bytes([content[at] ^ 1 << damage["flip"][1]]) + content[at + 1:]
    return content + bytes(damage.get("more", 0))


def file_of(case):
    """The bytes of the file that a case describes."""
    if case.get("kind", "png") == "png":
        content = png_file(case)
    elif case["kind"] == "jpeg":
        content = jpeg_file(case)
    else:
        file = io.BytesIO()
        image_of(case, "RGB").save(file, case["format"])
        content = file.getvalue()
    return damaged(content, case.get("damage", {}))
