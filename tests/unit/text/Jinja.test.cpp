// The template engine; tests/peers compares it with jinja2 itself.

#include "text/jinja/Jinja.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace multicard {
namespace {

using nlohmann::ordered_json;

std::string rendered(const std::string& source, const ordered_json& variables = ordered_json::object()) {
  JinjaTemplate::Variables values;
  for (const auto& [name, value] : variables.items())
    values.emplace_back(name, jinja_value(value));
  return JinjaTemplate(source).render(values).text;
}

std::string refusal(const std::string& source, const ordered_json& variables = ordered_json::object()) {
  try {
    return "rendered: " + rendered(source, variables);
  } catch (const JinjaError& error) {
    return error.what();
  }
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += text;
  return all;
}

const ordered_json kVariables = {{"list", {1, 2, 3}},
                                 {"text", "ab"},
                                 {"object", {{"key", "value"}, {"a", nullptr}}},
                                 {"nothing", nullptr},
                                 {"messages", {{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}}}}};

void expect(const std::string& source, const std::string& result) {
  EXPECT_EQ(rendered(source, kVariables), result) << source;
}

TEST(Jinja, KeepsWhiteSpaceLikeChatTemplates) {
  expect("a\n", "a");
  expect("a\r\n\n", "a\n");
  expect("  {% if true %}  \n x\n  {% endif %}\ny", "  \n x\ny");
  expect("a {{- ' b ' -}}\n c", "a b c");
  expect("a\n  {# no #}\nb", "a\nb");
  expect("x\n   {%+ if true %}y{% endif +%}\nz", "x\n   y\nz");
  expect("{% raw %}{{ a }}{% endraw %}", "{{ a }}");
}

TEST(Jinja, LeavesLoopsFromInsideOtherBlocks) {
  expect("{% for i in list %}{% with x = i %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endwith %}{% endfor %}",
         "1");
  expect(
      "{% for i in list %}{% generation %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endgeneration %}{% endfor "
      "%}",
      "13");
  expect(
      "{% for i in list %}{% set x %}a{{ i }}{% if i == 2 %}{% break %}{% endif %}b{% endset %}[{{ x }}]{% endfor %}",
      "[a1b]");
  expect(
      "{% for i in list %}{% filter upper %}a{{ i }}{% if i == 2 %}{% continue %}{% endif %}b{% endfilter %},"
      "{% endfor %}",
      "A1B,A3B,");
}

TEST(Jinja, RefusesWhatHasNoMeaningOrNoEnd) {
  EXPECT_FALSE(refusal("{{ ['a'] | map(attribute='b.c.d') | list }}").starts_with("rendered"));
  EXPECT_FALSE(refusal("{{ ('a' ~ 'b')['x' ~ 'y']['z'] }}").starts_with("rendered"));
  EXPECT_EQ(refusal("{{ '{\u00b2}'.format(1) }}"), "format has no value for {\u00b2}");
  EXPECT_EQ(refusal("{{ 'zz' | int(base=99) }}"), "int has no base 99");
  EXPECT_EQ(refusal("{{ [1] | tojson(indent='" + repeated("a", 101) + "') }}"),
            "the indent or a separator of tojson is too long");
}

TEST(Jinja, RunsStatements) {
  expect("{% for i in list %}{% if loop.first %}<{% elif loop.last %}>{% else %}-{% endif %}{{ i }}{% endfor %}",
         "<1-2>3");
  expect("{% set ns = namespace(n=0) %}{% for i in list %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", "6");
  expect("{% set x = 'a' %}{% for i in list %}{% set x = 'b' %}{% endfor %}{{ x }}", "a");
  expect("{% for k, v in object.items() %}{{ k }}={{ v }};{% endfor %}", "key=value;a=None;");
  expect("{% for i in list if i != 2 %}{{ loop.index }}{{ i }}{% endfor %}{% for i in [] %}{% else %}none{% endfor %}",
         "1123none");
  expect(
      "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}",
      "023");
  expect("{% macro f(a, b='d') %}[{{ a }}{{ b }}]{% endmacro %}{{ f(1) }}{{ f(1, b=2) | upper }}", "[1d][12]");
  expect("{% macro f() %}{{ i }}{% endmacro %}{% for i in list %}{{ f() }}{% endfor %}", "");
  expect("{% set x %}a{{ text }}{% endset %}{{ x | upper }}{% filter upper %}q{% endfilter %}", "AABQ");
}

TEST(Jinja, MacrosSeeTheScopesAroundTheirDefinition) {
  expect(
      "{% set g = 'top' %}{% macro a() %}{{ g }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}"
      "{% for g in [1] %}{{ b() }}{{ a() }}{{ g }}{% endfor %}",
      "toptop1");
  expect(
      "{% macro f(a) %}{{ a }}({{ caller() }}){% endmacro %}"
      "{% for i in [7, 8] %}{% call f(i) %}{{ i }}{{ loop.index }}{% endcall %}{% endfor %}",
      "7(71)8(82)");
  expect(
      "{% macro f(g) %}{{ g() }}{% endmacro %}{% for i in list %}{% macro h() %}{{ i }}{% endmacro %}{{ f(h) }}"
      "{% endfor %}",
      "123");
  expect(
      "{% macro f() %}{{ caller() }}{% endmacro %}{% with y = 1 %}{% call f() %}{% macro g() %}{{ y }}{% endmacro %}"
      "{{ g() }}{% call f() %}{{ y }}{{ g() }}{% endcall %}{{ caller is defined }}{% endcall %}{{ y }}{% endwith %}",
      "111False1");
  expect(
      "{% set x = 'o' %}{% for x in [[1]] recursive %}{% macro m() %}{{ x }}{% endmacro %}"
      "{% if x is number %}{{ m() }}{% else %}{{ loop(x) }}{{ m() }}{% endif %}{% endfor %}{{ x }}",
      "1[1]o");
  expect(
      "{% set n = namespace() %}{% with a = 1 %}{% macro m() %}x{% endmacro %}{% set n.m = m %}{% endwith %}{{ n.m() "
      "}}",
      "x");
  EXPECT_EQ(refusal("{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}"), "\"caller\" is undefined");
}

TEST(Jinja, EvaluatesLikePython) {
  expect("{{ 'yes' if text == 'ab' and not missing else 'no' }}{{ 'x' if nothing }}", "yes");
  expect("{{ object.key ~ object['key'] ~ missing ~ list[-1] ~ (1 + 2) ~ -7 % 4 ~ -7 // 2 ~ 7 / 2 }}",
         "valuevalue331-43.5");
  expect("{{ list }}{{ object }}{{ nothing }}{{ true }}{{ (1,) }}{{ 1e20 }}{{ \"it's\" | list | length }}",
         "[1, 2, 3]{'key': 'value', 'a': None}NoneTrue(1,)1e+204");
  expect("{{ list[::-1] }}{{ text[1:] }}{{ 'aé中😀'[-2:] }}{{ 1 < 2 < 3 }}{{ 'a' in text }}", "[3, 2, 1]b中😀TrueTrue");
  expect("{{ ' a,b '.strip().split(',')[-1] }}{{ 'x'.startswith(('y', 'x')) }}{{ object.get('z', 5) }}", "bTrue5");
  expect("{{ 'a' 'b' }}{{ 'x\\n\\u4e2d' }}", "abx\n中");
}

TEST(Jinja, FiltersAndTests) {
  expect("{{ messages | map(attribute='role') | join(',') }}", "user,assistant");
  expect("{{ messages | selectattr('content', 'defined') | list | length }}{{ [3, 1] | sort | first }}", "11");
  expect("{{ object | tojson }}{{ [1, {'a': 'é'}] | tojson(indent=2, ensure_ascii=true) }}",
         "{\"key\": \"value\", \"a\": null}[\n  1,\n  {\n    \"a\": \"\\u00e9\"\n  }\n]");
  expect("{{ '\x7F' | tojson }}{{ '\x7F' | tojson(ensure_ascii=true) }}", "\"\x7F\"\"\\u007f\"");
  expect("{{ messages[0].content is string and messages[1].content is not defined and list is iterable }}", "True");
  expect("{{ missing | default('d') }}{{ '' | default('d', true) }}{{ ' x ' | trim }}{{ '7' | int + 1 }}", "ddx8");
}

TEST(Jinja, HasOneDateForAllTimes) {
  expect("{{ strftime_now('%d %b %Y') }} {{ strftime_now('%Y-%m-%d') }}", "26 Jul 2024 2024-07-26");
}

TEST(Jinja, FindsWhatIsGenerated) {
  const JinjaOutput output =
      JinjaTemplate("é{% generation %}ab{% endgeneration %}-{% generation %}c{% endgeneration %}").render({});
  EXPECT_EQ(output.text, "éab-c");
  ASSERT_EQ(output.generated.size(), 2u);
  EXPECT_EQ(output.generated[0].begin, 2u);
  EXPECT_EQ(output.generated[0].end, 4u);
  EXPECT_EQ(output.generated[1].begin, 5u);
  EXPECT_FALSE(output.has_hidden_generation);
  const auto outermost = JinjaTemplate(
                             "{% generation %}{% endgeneration %}{% generation %}a{% generation %}b{% endgeneration %}"
                             "{% endgeneration %}")
                             .render({})
                             .generated;
  EXPECT_EQ(outermost, (std::vector<TextRange>{{0, 0}, {0, 2}}));
  EXPECT_TRUE(
      JinjaTemplate("{% set x %}{% generation %}a{% endgeneration %}{% endset %}").render({}).has_hidden_generation);
}

TEST(Jinja, KnowsWhatATemplateMentions) {
  const JinjaTemplate source("{% for m in messages %}{{ m.tool_calls }}{{ m['name'] }}{% endfor %}tools");
  for (const char* word : {"messages", "tool_calls", "name"})
    EXPECT_TRUE(source.mentions(word)) << word;
  EXPECT_FALSE(source.mentions("tools"));
}

TEST(Jinja, RefusesWhatItCannotRender) {
  for (const char* source : {"{{ missing.x }}",
                             "{{ missing + 'x' }}",
                             "{{ f() }}",
                             "{% include 'x' %}",
                             "{{ 1 / 0 }}",
                             "{{ 'a }}",
                             "{% if true %}",
                             "{{ a b }}",
                             "{{ }}",
                             "{{ text + 1 }}",
                             "{{ list.append(1) }}",
                             "{{ object.update({}) }}",
                             "{{ text | nosuch }}",
                             "{{ text is nosuch }}",
                             "{{ range }}",
                             "{{ 9223372036854775807 + 1 }}",
                             "{% endif %}",
                             "{% for a, b in list %}{% endfor %}",
                             "{{ [1 }}",
                             "{{ {[1]: 2} }}"})
    EXPECT_EQ(refusal(source, kVariables).find("rendered: "), std::string::npos) << source;
  EXPECT_EQ(refusal("{{ raise_exception('roles must alternate') }}"), "roles must alternate");
  EXPECT_EQ(refusal("{{ messages.x.y }}", {{"messages", {{"z", 1}}}}), "\"x\" is undefined");
}

TEST(Jinja, RefusesLongChains) {
  const ordered_json variables = {{"a", "a"}, {"list", {1}}};
  constexpr int kMany = 20000;
  for (const char* link : {".a", "[0]", "|trim", " + a", " ~ a", " or a", " and a", " == a", " % 1", " is defined",
                           "(1)", "[1:]", " if a else a"})
    EXPECT_THROW(JinjaTemplate("{{ a" + repeated(link, kMany) + " }}"), JinjaError) << link;
  EXPECT_THROW(JinjaTemplate("{% if 0 %}" + repeated("{% elif 0 %}", kMany) + "{% endif %}"), JinjaError);
  for (const char* open : {"(", "[", "{", "-", "a(", "a[", "{'a':"})
    EXPECT_THROW(JinjaTemplate("{{ " + repeated(open, kMany)), JinjaError) << open;
  EXPECT_EQ(rendered("{{ a" + repeated(" + a", 400) + " }}", variables), std::string(401, 'a'));
  EXPECT_EQ(rendered("{{ " + repeated("not ", kMany) + "a is defined and 'b' }}", variables), "b");
}

TEST(Jinja, RefusesValuesThatGrow) {
  const std::string letters = "{% set x = 'aaaaaaaaaaaaaaaa' %}";
  EXPECT_EQ(rendered(letters + repeated("{% set x = x ~ x %}", 3) + "{{ x }}"), std::string(128, 'a'));
  for (const std::string growth :
       {"{% set x = x ~ x %}", "{% set x = x + x %}", "{% set x = x * 16 %}", "{% set x = x.replace('a', x) %}",
        "{% set x = x.join([x, x]) %}", "{% set x = x | replace('a', 'aaaaaaaa') %}", "{% set x = [x, x] | join %}",
        "{% set x %}{{ x }}{{ x }}{% endset %}"})
    EXPECT_EQ(refusal(letters + repeated(growth, 60)).find("rendered: "), std::string::npos) << growth;
  EXPECT_THROW(rendered(letters + repeated("{% set x = x ~ x %}", 20) + repeated("{{ x ~ 'b' in x }}", 4000)),
               JinjaError);
  EXPECT_THROW(rendered("{% set x = [1] %}" + repeated("{% set x = [x, x, x, x, x, x, x, x] %}", 12) + "{{ x }}"),
               JinjaError);
  EXPECT_THROW(rendered("{% set x = 1 %}" + repeated("{% set x = [x] %}", 10000)), JinjaError);
  EXPECT_THROW(rendered("{% set x = {} %}" + repeated("{% set x = {'a': x, 'b': x} %}", 60) + "{{ x | tojson }}"),
               JinjaError);
}

TEST(Jinja, EndsWhateverATemplateDoes) {
  EXPECT_THROW(rendered(repeated("{% for a in range(1000) %}", 5) + repeated("{% endfor %}", 5)), JinjaError);
  EXPECT_THROW(rendered("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), JinjaError);
  EXPECT_THROW(rendered("{% macro f(x) %}{{ f(x) }}{{ f(x) }}{% endmacro %}{{ f(1) }}"), JinjaError);
  EXPECT_THROW(rendered("{{ range(100001) }}"), JinjaError);
  for (const char* use : {"x is upper", "[x] | unique | list", "[x, x] | max"})
    EXPECT_THROW(rendered("{% set x = 'aaaaaaaaaaaaaaaa' * 65536 %}{% for a in range(1000) %}{{ '' if " +
                          std::string(use) + " }}{% endfor %}"),
                 JinjaError)
        << use;
  EXPECT_THROW(rendered(repeated("{% for a in range(99999) %}{{ 'aaaaaaaaaaaaaaaa' * 99 }}{% endfor %}", 5)),
               JinjaError);
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% set ns.a = ns %}{% set ns.b = [ns] %}x"), "x");  // a cycle
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% for i in [1, 2] %}{% set ns.l = loop %}{% endfor %}"
                     "{{ ns.l.length }}"),
            "2");
  EXPECT_THROW(JinjaTemplate(std::string(300 << 10, 'a')), JinjaError);
}

TEST(Jinja, CountsTheStepsOfWhatFailsToo) {
  const JinjaTemplate source("{% for i in range(1000) %}{{ i }}{% endfor %}{{ raise_exception('x') }}");
  std::size_t work = 0;

  EXPECT_THROW(source.render({}, work), JinjaError);
  EXPECT_GT(work, 1000u);
}

/// What passes over dicts have written of the text.
std::vector<std::string> passes(const std::string& source) {
  const JinjaValue messages = jinja_value(kVariables["messages"]);
  const JinjaOutput output = JinjaTemplate(source).render({{"messages", messages}});
  std::vector<std::string> all;
  for (const auto& [item, range] : output.passes)
    all.push_back(*item->find(std::string_view("role"))->string() + "=" +
                  output.text.substr(range.begin, range.end - range.begin));
  return all;
}

TEST(Jinja, KnowsWhatEachPassHasWritten) {
  using Passes = std::vector<std::string>;
  const std::string loop = "{% for m in messages %}<{{ loop.index }}>{% endfor %}";

  EXPECT_EQ(passes("a" + loop + "b"), (Passes{"user=<1>", "assistant=<2>"}));
  EXPECT_EQ(passes("{% if true %}{% for m in messages[1:] %}x{% break %}{% endfor %}{% endif %}"),
            (Passes{"assistant=x"}));
  EXPECT_EQ(passes("{% macro f(m) %}{% for n in messages %}{{ n.role }}{% endfor %}{% endmacro %}"
                   "{% for m in messages if m.content %}{{ f(m) }}{% endfor %}"),
            (Passes{"user=userassistant"}));  // not what stands in macros
  EXPECT_EQ(passes("{% set t %}" + loop + "{% endset %}{{ t }}{% for i in [1, 2] %}{{ i }}{% endfor %}"), Passes{});
  EXPECT_EQ(passes("{% for m in messages %}{% set x = m %}{% endfor %}"), Passes{});
}

}  // namespace
}  // namespace multicard
