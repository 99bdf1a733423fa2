#include "profile/trace/TraceReader.hpp"

#include <gtest/gtest.h>

#include "TraceFile.hpp"
#include "profile/trace/TraceText.hpp"
#include "support/expect_error.hpp"

namespace multicard {
namespace {

using test::TraceFile;

/// `{"traceEvents": [{"ph": "X", ...}]}` with these further fields.
std::string event(const std::string& fields) {
  return TraceFile::of("{\"ph\": \"X\", " + fields + "}");
}

Trace read(const std::string& text) {
  const TraceFile file(text);
  return read_trace(file.path());
}

std::string failure(const std::string& text, const std::string& name = "trace.json") {
  const TraceFile file(text, name);
  return test::message_of<DataError>([&] { read_trace(file.path()); });
}

TEST(TraceReader, ReadsFieldsInAnyOrder) {
  const Trace trace = read(R"json({"traceEvents": [
    {"args": {"correlation": 7, "stream": 20, "device": 1, "bytes": 96}, "dur": 2.5, "ts": 10.001,
     "name": "Memcpy HtoD (Pinned -> Device)", "cat": "gpu_memcpy", "ph": "X", "tid": 20, "pid": 1},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 5, "tid": 6, "ts": 9, "dur": 1,
     "args": {"External id": 3, "cbid": 41, "correlation": 7}}],
    "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}})json");
  ASSERT_EQ(trace.gpu.size(), 1u);
  EXPECT_EQ(trace.gpu[0].begin, 10001);
  EXPECT_EQ(trace.gpu[0].end, 12501);
  EXPECT_EQ(trace.gpu[0].correlation, 7);
  EXPECT_EQ(trace.gpu[0].bytes, 96);
  EXPECT_EQ(trace.gpu[0].work, GpuWork::copy);
  EXPECT_EQ(trace.streams, (std::vector<TraceStream>{{1, 20}}));
  ASSERT_EQ(trace.calls.size(), 1u);
  EXPECT_EQ(trace.names.name(trace.calls[0].name), "cudaMemcpyAsync");
  EXPECT_EQ(trace.rank, 3);
  EXPECT_EQ(trace.world_size, 8);
  EXPECT_EQ(trace.num_events, 2);
  EXPECT_TRUE(trace.notices.empty());
}

TEST(TraceReader, ReadsEventsWithoutAnObjectAroundThem) {
  EXPECT_EQ(read(R"([{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "pid": 0, "tid": 7}])").gpu.size(),
            1u);
  EXPECT_TRUE(read("[]").gpu.empty());
}

TEST(TraceReader, UnescapesNames) {
  const Trace trace =
      read(TraceFile::of(R"({"ph": "X", "cat": "cpu_op", "name": "a \"b\"\u00e9\\", "pid": 1, "tid": 1, "ts": 1},)"
                         R"({"ph": "X", "cat": "cpu_op", "name": "a \"b\"é\\", "pid": 1, "tid": 1, "ts": 2})"));
  ASSERT_EQ(trace.operators.size(), 2u);
  EXPECT_EQ(trace.names.name(trace.operators[0].name), "a \"b\"é\\");
  EXPECT_EQ(trace.operators[0].name, trace.operators[1].name);
}

TEST(TraceReader, NamesLaunchesThatItsProfilerDidNotKnow) {
  const auto name = [](int callback) {
    const Trace trace = read(event(R"("cat": "cuda_runtime", "name": "INVALID", "pid": 1, "tid": 1, "ts": 1, "dur": 1,
      "args": {"correlation": 1, "cbid": )" +
                                   std::to_string(callback) + "}"));
    return trace.names.name(trace.calls.at(0).name);
  };
  EXPECT_EQ(name(505), "cudaLaunchKernel");
  EXPECT_EQ(name(506), "cudaLaunchKernel");
  EXPECT_EQ(name(507), "INVALID");
}

TEST(TraceReader, NamesWhatNoTableShows) {
  const Trace trace = read(TraceFile::of(R"({"ph": "X", "cat": "hip_runtime", "name": "a", "ts": 1, "dur": 1},
    {"ph": "X", "cat": "hip_runtime", "name": "b", "ts": 1, "dur": 1},
    {"ph": "B", "cat": "cpu_op", "name": "c", "ts": 1}, {"ph": "M", "name": "process_name"},
    {"ph": "X", "cat": "kernel", "name": "d", "ts": 1, "dur": -3, "pid": 0, "tid": 7})"));
  ASSERT_EQ(trace.notices.size(), 3u);
  EXPECT_NE(trace.notices[0].find("2 events of the category \"hip_runtime\""), std::string::npos) << trace.notices[0];
  EXPECT_NE(trace.notices[1].find("1 events of the phases B and E"), std::string::npos) << trace.notices[1];
  EXPECT_NE(trace.notices[2].find("1 events with a negative duration"), std::string::npos) << trace.notices[2];
  EXPECT_TRUE(trace.gpu.empty());
}

TEST(TraceReader, SaysWhereAFileIsDamaged) {
  const std::string whole = event(R"("cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1)");
  EXPECT_NE(failure(whole.substr(0, 70)).find("from byte 70 on (it ends within a string"), std::string::npos);
  EXPECT_NE(failure(whole.substr(0, whole.size() - 1)).find("is cut off"), std::string::npos);
  EXPECT_NE(failure(whole + "]").find("trace.json is not JSON"), std::string::npos);
  const std::string bad_bytes = failure(R"({"traceEvents": [{"name": ")"
                                        "\xff"
                                        R"("}]})");
  EXPECT_NE(bad_bytes.find("from byte 27 on (it is not UTF-8)"), std::string::npos) << bad_bytes;
  const std::string no_colon = failure(R"({"traceEvents": [{"ph" "X"}]})");
  EXPECT_NE(no_colon.find("from byte 23 on"), std::string::npos) << no_colon;
  EXPECT_NE(failure(whole + " xx").find("on (more text follows"), std::string::npos);
  EXPECT_NE(failure(whole + whole).find("on (more text follows"), std::string::npos);
  EXPECT_NE(failure(R"({"traceEvents": [}]})").find("from byte 17 on (} closes no bracket)"), std::string::npos);
}

TEST(TraceReader, SaysWhereAStringHasAControlCharacter) {
  for (const char c : {'\0', '\t', '\n', '\x1b'}) {
    const std::string message = failure(std::string(R"({"traceEvents": [{"name": "a)") + c + R"("}]})");
    EXPECT_NE(message.find("from byte 28 on (a string has the control character"), std::string::npos) << message;
  }
}

TEST(TraceReader, SaysWhatAFileIsInsteadOfJson) {
  const std::string utf16("\xff\xfe{\0}\0", 6), program(
                                                    "\x7f"
                                                    "ELF\2\1\1\0",
                                                    8);
  EXPECT_NE(failure(utf16).find("from byte 0 on (it is UTF-16"), std::string::npos);
  EXPECT_NE(failure(program).find("from byte 0 on (it begins with \\x7f"), std::string::npos);
  const std::string results = failure("\x89HDF\r\n\x1a\n");
  EXPECT_NE(results.find("(it is an HDF5 file"), std::string::npos) << results;
  EXPECT_NE(results.find("multicard-post profile"), std::string::npos) << results;
  EXPECT_NE(failure("").find("trace.json is empty"), std::string::npos);
  EXPECT_NE(failure(" \n").find("is empty (it has white space alone)"), std::string::npos);
}

TEST(TraceReader, PassesOverAByteOrderMark) {
  EXPECT_EQ(read("\xef\xbb\xbf" + event(R"("cat": "kernel", "name": "k", "ts": 1)")).gpu.size(), 1u);
  const std::string message = failure("\xef\xbb\xbf{\"traceEvents\" []}");
  EXPECT_NE(message.find("from byte 18 on"), std::string::npos) << message;
}

TEST(TraceReader, NamesTheEventThatIsWrong) {
  const std::string text = TraceFile::of(R"({"ph": "M"}, {"ph": "X", "cat": "kernel", "name": "k", "ts": "1"})");
  const std::string message = failure(text);
  EXPECT_NE(message.find("Event 1 of "), std::string::npos) << message;
  EXPECT_NE(message.find("at byte " + std::to_string(text.find("{\"ph\": \"X\""))), std::string::npos) << message;
  EXPECT_NE(message.find("ts is not a number of microseconds"), std::string::npos) << message;
  EXPECT_NE(failure(event(R"("cat": "kernel", "name": 3, "ts": 1)")).find("its name is not a string"),
            std::string::npos);
  EXPECT_NE(failure(event(R"("cat": "kernel", "name": "k", "ts": 9e15, "dur": 9e15)")).find("2^62 ns"),
            std::string::npos);
  for (const char* name : {R"("name": "\q")", R"("name": "\ud83d")"})
    EXPECT_NE(failure(event(std::string(name) + R"(, "cat": "kernel", "ts": 1)")).find("an escape"), std::string::npos);
  EXPECT_NE(failure(event(R"("cat": "kernel", "ts": 1)")).find("it has no name"), std::string::npos);
  for (const char* other : {"5", "null", "[]"})
    EXPECT_NE(failure(TraceFile::of(other)).find("(it is not an object)"), std::string::npos) << other;
}

TEST(TraceReader, RefusesWhatTablesCannotSum) {
  const auto kernel = [](const std::string& fields) {
    return R"({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, )" + fields + "}";
  };
  for (const char* ts : {"4.7e15", "-4.7e15", "-9.2e15"})
    EXPECT_NE(failure(TraceFile::of(kernel(R"("dur": 1, "ts": )" + std::string(ts)))).find("2^62 ns from 0"),
              std::string::npos)
        << ts;
  const std::string year = kernel(R"("ts": 0, "dur": 3e13)");
  std::string years = year;
  for (int i = 1; i < 153; ++i)
    years += "," + year;
  EXPECT_EQ(read(TraceFile::of(years)).gpu.size(), 153u);
  EXPECT_NE(failure(TraceFile::of(years + "," + year)).find("Event 153 of "), std::string::npos);
  EXPECT_EQ(read(TraceFile::of(kernel(R"("ts": 0, "args": {"bytes": 9007199254740992})"))).gpu[0].bytes, 1ll << 53);
  for (const char* bytes : {"9007199254740993", "9223372036854775807", "1000000000000000000000000000000"})
    EXPECT_NE(failure(TraceFile::of(kernel(R"("ts": 0, "args": {"bytes": )" + std::string(bytes) + "}"))).find("2^53"),
              std::string::npos)
        << bytes;
}

TEST(TraceReader, RefusesValuesThatAreNotJson) {
  const std::string rest = R"("cat": "kernel", "name": "k", "tid": 7, )";
  for (const char* fields :
       {R"("pid": 0, "ts": 01.5)", R"("pid": 0, "ts": .5)", R"("pid": 0, "ts": 1, "dur": NaN)",
        R"("pid": tru, "ts": 1)", R"("pid": 01, "ts": 1)", R"("pid": 0, "ts": 1, "args": {"stream": tru})",
        R"("pid": 0, "ts": 1, "args": {"correlation": 007})"})
    EXPECT_NE(failure(event(rest + fields)).find("Event 0 of "), std::string::npos) << fields;
  EXPECT_NE(failure(R"({"traceEvents": [{"ph": X}]})").find("ph is not a string"), std::string::npos);
  EXPECT_NE(failure(R"({"traceEvents": [{"ph": "X", "cat": kernel}]})").find("cat is not a string"), std::string::npos);
  // What no table needs is not looked at.
  EXPECT_EQ(read(event(rest + R"("pid": 0, "ts": 1, "id": tru)")).gpu.size(), 1u);
}

TEST(TraceReader, RefusesRanksThatNoJobHas) {
  const auto of = [](const std::string& info) { return R"({"traceEvents": [], "distributedInfo": {)" + info + "}}"; };
  for (const char* info :
       {R"("rank": "3")", R"("rank": 2.0)", R"("rank": -3)", R"("rank": 9223372036854775807)", R"("rank": 2147483648)",
        R"("rank": null)", R"("world_size": 0)", R"("rank": 2, "world_size": 2)", R"("world_size": 2, "rank": 5)"})
    EXPECT_NE(failure(of(info)).find("is damaged (its distributedInfo has the "), std::string::npos) << info;
  EXPECT_EQ(read(of(R"("rank": 2147483646, "world_size": 2147483647)")).rank, 2147483646);
}

TEST(TraceReader, GivesWhatHasNoProcessAGpuWithoutNumber) {
  const Trace trace = read(event(R"("cat": "kernel", "name": "k", "ts": 1, "dur": 1)"));
  ASSERT_EQ(trace.streams.size(), 1u);
  EXPECT_LT(trace.streams[0].device, 0);
  EXPECT_LT(trace.streams[0].stream, 0);
}

TEST(TraceReader, RefusesWhatIsNotATrace) {
  EXPECT_NE(failure("{\"a\": 1}").find("has no traceEvents"), std::string::npos);
  EXPECT_NE(failure("3").find("is not a trace (it is a number)"), std::string::npos);
  EXPECT_NE(failure("null").find("is not a trace (it is null)"), std::string::npos);
  EXPECT_NE(failure("tru").find("from byte 0 on (it begins with t"), std::string::npos);
  for (const char* events : {"null", "{}", "3"})
    EXPECT_NE(failure(R"({"traceEvents": )" + std::string(events) + "}").find("its traceEvents is not an array"),
              std::string::npos);
  EXPECT_NE(failure(R"({"distributedInfo": null})").find("its distributedInfo is not an object"), std::string::npos);
  EXPECT_NE(failure(std::string("\x1f\x8b\x08\0\0", 5), "trace.json.gz").find("cannot be decompressed"),
            std::string::npos);
}

TEST(TraceText, JoinsTheMembersOfAGzipFile) {
  // printf 'abc' | gzip -n9, twice.
  const std::string member(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\x4c\x4a\x06\x00\xc2\x41\x24\x35\x03\x00\x00\x00", 23);
  const TraceFile file(member + member, "trace.json.gz");
  EXPECT_EQ(TraceText::read(file.path()).text(), "abcabc");
  const TraceFile padded(member + member + std::string(500, '\0'), "trace.json.gz");
  EXPECT_EQ(TraceText::read(padded.path()).text(), "abcabc");
  const std::string place = failure(member, "trace.json.gz");
  EXPECT_NE(place.find("byte 0 of the unpacked text"), std::string::npos) << place;
  const TraceFile cut(member + member.substr(0, 20), "trace.json.gz");
  const std::string message = test::message_of<DataError>([&] { TraceText::read(cut.path()); });
  EXPECT_NE(message.find("its gzip member at byte 23 is cut off or damaged"), std::string::npos) << message;
}

}  // namespace
}  // namespace multicard
