#include "prepare/images/ImageFormats.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>

#include <fmt/format.h>

namespace multicard {

namespace {

using enum KeyUse;

constexpr const char* kConvert = "convert them to PNG or JPEG";
constexpr const char* kNoPicture = "no picture";

// Endings of pictures that are not read are listed, so that a folder of WebP is refused with the way out, and not taken
// for an empty class. Endings that are known to hold no pictures keep the warning short.
constexpr ForeignKey kEndings[] = {
    {".jpg", used, "JPEG, or PNG by another name"},
    {".jpeg", used, "JPEG, or PNG by another name"},
    {".png", used, "PNG, or JPEG by another name"},
    {".jpe", unsupported, "rename them to .jpg"},
    {".jfif", unsupported, "rename them to .jpg"},
    {".jp2", unsupported, kConvert},
    {".j2k", unsupported, kConvert},
    {".jxl", unsupported, kConvert},
    {".webp", unsupported, kConvert},
    {".avif", unsupported, kConvert},
    {".heic", unsupported, kConvert},
    {".heif", unsupported, kConvert},
    {".bmp", unsupported, kConvert},
    {".gif", unsupported, kConvert},
    {".apng", unsupported, kConvert},
    {".tif", unsupported, kConvert},
    {".tiff", unsupported, kConvert},
    {".ppm", unsupported, kConvert},
    {".pgm", unsupported, kConvert},
    {".pbm", unsupported, kConvert},
    {".pnm", unsupported, kConvert},
    {".tga", unsupported, kConvert},
    {".ico", unsupported, kConvert},
    {".svg", unsupported, kConvert},
    {".exr", unsupported, kConvert},
    {".hdr", unsupported, kConvert},
    {".dng", unsupported, kConvert},
    {".npy", unsupported, kConvert},
    {".npz", unsupported, kConvert},
    {".dcm", unsupported, kConvert},
    {".parquet", unsupported, "use --format parquet"},
    {".zip", unsupported, "unpack them"},
    {".tar", unsupported, "unpack them"},
    {".gz", unsupported, "unpack them"},
    {"metadata.csv, .jsonl, .parquet", unsupported, "of the datasets library: labels in them are not read"},
    {".txt", harmless, kNoPicture},
    {".md", harmless, kNoPicture},
    {".csv", harmless, kNoPicture},
    {".tsv", harmless, kNoPicture},
    {".json", harmless, kNoPicture},
    {".xml", harmless, kNoPicture},
    {".xmp", harmless, kNoPicture},
    {".yaml", harmless, kNoPicture},
    {".yml", harmless, kNoPicture},
    {".html", harmless, kNoPicture},
    {".pdf", harmless, kNoPicture},
    {".log", harmless, kNoPicture},
    {".ini", harmless, "what file managers keep"},
    {".db", harmless, "what file managers keep"},
};

// Integers that number rows or give sizes stand next to labels in many data sets: they must not be taken for them when
// the column `label` is missing.
constexpr ForeignKey kParquetColumns[] = {
    {"image", used, "bytes of JPEG or PNG, plain or in a struct; without it the only column of that kind"},
    {"label", used, "integers; without it the only column of integers that is not one of those below"},
    {"huggingface", used, "metadata of the file: the names of the labels (ClassLabel)"},
    {"other columns", named, "not read, and named"},
    {"id", harmless, "the number of a row, never a label"},
    {"idx", harmless, "the number of a row, never a label"},
    {"index", harmless, "the number of a row, never a label"},
    {"image_id", harmless, "the number of a row, never a label"},
    {"__index_level_0__", harmless, "the number of a row that pandas writes, never a label"},
    {"width", harmless, "the picture has it itself"},
    {"height", harmless, "the picture has it itself"},
};

constexpr ForeignKey kPictures[] = {
    {"JPEG grey", used, "one channel, three where other pictures have them"},
    {"JPEG RGB, YCbCr", used, "three channels"},
    {"JPEG CMYK, YCCK", used, "stored inverted, as Adobe's programs do; becomes RGB"},
    {"JPEG progressive", used, "as any other"},
    {"JPEG of 12 bits", unsupported, "8 bits alone"},
    {"JPEG lossless", unsupported, "lossy ones alone"},
    {"PNG grey", used, "1, 2, 4, 8 or 16 bits; of 16 the upper 8"},
    {"PNG RGB", used, "8 or 16 bits; of 16 the upper 8"},
    {"PNG palette", used, "becomes RGB"},
    {"PNG interlaced", used, "as any other"},
    {"orientation", used,
     "of EXIF and XMP: the picture is turned upright, as by Pillow's exif_transpose, and where its type is BYTE"},
    {"transparency", harmless, "dropped, as by Pillow's convert(\"RGB\"): colours stay as they are stored"},
    {"colour profiles and gamma", harmless, "pixels stay as they are stored, as in Pillow"},
    {"further pictures", harmless, "of an APNG or MPO file; the first is taken, as by Pillow"},
};

constexpr ForeignKey kIdxTypes[] = {
    {"0x08", used, "bytes: images of 3 dimensions, labels of 1"},
    {"0x09", unsupported, "signed bytes"},
    {"0x0b", unsupported, "16-bit integers"},
    {"0x0c", unsupported, "32-bit integers"},
    {"0x0d", unsupported, "float32"},
    {"0x0e", unsupported, "float64"},
};

constexpr ForeignKey kCifar[] = {
    {"*.bin", used, "records of a label, or two of CIFAR-100, and 3072 bytes; the fine label counts"},
    {"batches.meta.txt", used, "names of the 10 classes, in the folder of the files"},
    {"fine_label_names.txt", used, "names of the 100 classes, in the folder of the files"},
    {"coarse_label_names.txt", harmless, "the fine labels are used"},
    {"readme.html", harmless, "no picture"},
    {"data_batch_1", unsupported,
     "of the version for Python, as test_batch, batches.meta, meta, train and test without an ending"},
};

}  // namespace

const ForeignKey* find_idx_type(std::uint32_t magic) {
  // The lowest byte is the number of dimensions.
  const std::string code = fmt::format("0x{:02x}", magic >> 8);
  return find_key(kIdxTypes, code);
}

const ForeignKey* find_ending(std::string_view file_name) {
  std::string ending = std::filesystem::path(file_name).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return find_key(kEndings, ending);
}

const ForeignKey* find_parquet_column(std::string_view name) {
  return find_key(kParquetColumns, name);
}

std::vector<ForeignFormat> image_formats() {
  return {{"image-folder", "Files in folders of pictures, by the endings of their names", {kEndings}, "warning"},
          {"picture", "Kinds of pictures, and what files hold besides pixels", {kPictures}},
          {"idx", "Types of the elements of IDX files, by their code", {kIdxTypes}},
          {"cifar", "Files of CIFAR-10 and CIFAR-100", {kCifar}},
          {"parquet-images", "Columns of Parquet files with images", {kParquetColumns}}};
}

}  // namespace multicard
