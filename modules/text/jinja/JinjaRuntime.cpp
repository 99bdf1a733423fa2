// Rendering the statements of templates.

#include "text/jinja/JinjaRuntime.hpp"

#include <utility>

#include "text/jinja/JinjaText.hpp"

namespace multicard {

namespace {

std::size_t weight_of(const JinjaTemplate::Variables& variables) {
  std::size_t weight = 0;
  for (const auto& [name, value] : variables)
    weight += value.weight();
  return weight;
}

}  // namespace

// Every name of the program has its place from the start, so that a look-up is an index. Variables come after the
// functions and hide those of the same name.
JinjaRuntime::JinjaRuntime(const JinjaProgram& program, const JinjaTemplate::Variables& variables, std::size_t& work)
    : program_(program),
      loop_symbol_(program.symbols.find("loop")),
      caller_symbol_(program.symbols.find("caller")),
      body_symbol_(program.symbols.find(kBody)),
      limits_(weight_of(variables)),
      work_(work) {
  for (const std::string* name : program.symbols.names()) {
    const JinjaFunction global = find_jinja_global(*name);
    scopes_.add(global ? JinjaValue(std::make_shared<const JinjaCallable>(JinjaCallable{global}))
                       : JinjaValue(JinjaUndefined{name}));
  }
  for (const auto& [name, value] : variables)
    if (const std::size_t* symbol = program.symbols.find(name)) scopes_.set(*symbol, value);
}

// The written text counts as work at the rate of bytes in values (JinjaLimits::work).
JinjaOutput JinjaRuntime::run() {
  render(*program_.root);
  work_ += output_.text.size() / 512;
  return std::move(output_);
}

// A value's own part only: what its items hold was counted when they were made. What walks through all of it counts the
// whole weight instead.
void JinjaRuntime::spend_on(const JinjaValue& value) {
  constexpr std::size_t kItem = 32;
  if (const std::string* text = value.string()) return spend(text->size() + kItem);
  if (const JinjaList* list = value.list()) return spend(kItem * (1 + list->items.size()));
  if (const JinjaDict* dict = value.dict()) return spend(2 * kItem * (1 + dict->items.size()));
}

void JinjaRuntime::put(std::string_view text) {
  output_.text += text;
  limits_.require_length(output_.text.size());
}

JinjaRuntime::Flow JinjaRuntime::render(const Node& node) {
  const JinjaLimits::Level level(limits_);
  limits_.step();
  switch (node.kind) {
    case Node::Kind::sequence:
      return render_children(node);
    case Node::Kind::text:
      put(node.text);
      return Flow::normal;
    case Node::Kind::output: {
      const JinjaValue value = value_of(*node.expression);
      const std::string* text = value.string();
      put(text ? *text : text_of(value));
      return Flow::normal;
    }
    case Node::Kind::choice:
      if (value_of(*node.expression).is_true()) return render(*node.children[0]);
      return node.children.size() > 1 ? render(*node.children[1]) : Flow::normal;
    case Node::Kind::loop:
      return render_loop(node);
    case Node::Kind::assignment:
      bind(node.targets, value_of(*node.expression));
      return Flow::normal;
    case Node::Kind::block_assignment:
    case Node::Kind::filter_block:
      return render_filtered(node);
    case Node::Kind::macro:
      assign(node.targets[0],
             std::make_shared<const JinjaCallable>(JinjaCallable{nullptr, {}, &node, scopes_.scope()}));
      return Flow::normal;
    case Node::Kind::call_block:
      render_call_block(node);
      return Flow::normal;
    case Node::Kind::with:
      return render_with(node);
    case Node::Kind::generation:
      return render_generation(node);
    case Node::Kind::leave:
      return Flow::leave;
    case Node::Kind::skip:
      return Flow::skip;
  }
  return Flow::normal;
}

JinjaRuntime::Flow JinjaRuntime::render_children(const Node& node) {
  for (const auto& child : node.children)
    if (const Flow flow = render(*child); flow != Flow::normal) return flow;
  return Flow::normal;
}

JinjaRuntime::Flow JinjaRuntime::render_loop(const Node& node) {
  return render_items(node, chosen_items(node, value_of(*node.expression)), 0);
}

/// \param num_around calls of this recursive loop that it stands in
JinjaRuntime::Flow JinjaRuntime::render_items(const Node& node, const std::shared_ptr<const JinjaList>& items,
                                              std::size_t num_around) {
  if (items->items.empty()) return node.children.size() > 1 ? render(*node.children[1]) : Flow::normal;
  spend(128);  // a loop stays until the end of the rendering
  JinjaLoop& loop =
      loops_.emplace_back(JinjaLoop{items, 0, node.is_recursive ? &node : nullptr, scopes_.scope(), num_around});
  for (; loop.index < items->items.size(); ++loop.index)
    if (render_item(node, loop) == Flow::leave) break;
  return Flow::normal;
}

// Which part of the text a message has written is recorded here, for locating answers (MessagePasses). In a macro or a
// block that is assigned the place in the final text is not known yet.
JinjaRuntime::Flow JinjaRuntime::render_item(const Node& node, const JinjaLoop& loop) {
  const JinjaValue& item = loop.items->items[loop.index];
  const std::size_t begin = output_.text.size();
  scopes_.open();
  scopes_.set(*loop_symbol_, &loop);
  bind(node.targets, item);
  const Flow flow = render(*node.children[0]);
  scopes_.close();
  const std::size_t end = output_.text.size();
  if (num_captures_ == 0 && end > begin && item.dict()) {
    spend(32);
    output_.passes.push_back({item.dict(), {begin, end}});
  }
  return flow;
}

/// Those items of a loop for which its condition is true.
std::shared_ptr<const JinjaList> JinjaRuntime::chosen_items(const Node& node, const JinjaValue& value) {
  // The condition is applied before the loop begins: loop.index, loop.length and loop.last count chosen items only.
  std::shared_ptr<const JinjaList> all = items_of(value);
  if (node.more.empty()) return all;
  std::vector<JinjaValue> chosen;
  for (const JinjaValue& item : all->items) {
    scopes_.open();
    bind(node.targets, item);
    if (value_of(*node.more[0]).is_true()) chosen.push_back(item);
    scopes_.close();
  }
  return make_jinja_list(std::move(chosen)).shared_list();
}

void JinjaRuntime::bind(const std::vector<Node::Target>& targets, const JinjaValue& value) {
  if (targets.size() == 1) return assign(targets[0], value);
  const std::shared_ptr<const JinjaList> parts = items_of(value);
  if (parts->items.size() != targets.size()) throw JinjaError("a row of values has another length than its names");
  for (std::size_t i = 0; i < targets.size(); ++i)
    assign(targets[i], parts->items[i]);
}

// A member can be set of namespaces only. Dicts cannot change, which is why values may be shared without copies.
void JinjaRuntime::assign(const Node::Target& target, JinjaValue value) {
  if (target.member.empty()) return scopes_.set(target.symbol, std::move(value));
  JinjaNamespace* members = scopes_[target.symbol].name_space();
  if (!members) throw JinjaError(target.name + " is not a namespace");
  if (target.member.starts_with('_')) throw JinjaError("a namespace cannot have the member " + target.member);
  spend(64);
  members->set(target.member, std::move(value));
}

/// A block whose text is assigned, or written, after its filters. A break in it loses the text, as in Jinja.
JinjaRuntime::Flow JinjaRuntime::render_filtered(const Node& node) {
  Flow flow = Flow::normal;
  std::string text = captured([&] { flow = render(*node.children[0]); });
  if (flow != Flow::normal) return flow;
  scopes_.open();
  scopes_.set(*body_symbol_, std::move(text));
  const JinjaValue value = value_of(*node.expression);
  scopes_.close();
  if (node.kind == Node::Kind::filter_block) {
    put(text_of(value));
  } else {
    bind(node.targets, value);
  }
  return Flow::normal;
}

void JinjaRuntime::render_call_block(const Node& node) {
  JinjaArguments arguments = arguments_of(*node.expression);
  arguments.named.emplace_back(
      "caller", std::make_shared<const JinjaCallable>(JinjaCallable{nullptr, {}, &node, scopes_.scope()}));
  const JinjaValue function = value_of(*node.expression->operands[0]);
  if (!function.callable() || !function.callable()->macro) throw JinjaError("a call block calls what is not a macro");
  put(text_of(call(*function.callable(), arguments)));
}

// All values are evaluated before any is set: in "with a = 1, b = a" the second a is the outer one.
JinjaRuntime::Flow JinjaRuntime::render_with(const Node& node) {
  std::vector<JinjaValue> values;
  for (const auto& expression : node.more)
    values.push_back(value_of(*expression));
  scopes_.open();
  for (std::size_t i = 0; i < values.size(); ++i)
    assign(node.targets[i], std::move(values[i]));
  const Flow flow = render(*node.children[0]);
  scopes_.close();
  return flow;
}

// As by transformers an empty block counts, and of blocks within each other the outermost holds the others.
JinjaRuntime::Flow JinjaRuntime::render_generation(const Node& node) {
  const std::size_t begin = output_.text.size(), num_before = output_.generated.size();
  scopes_.open();
  const Flow flow = render(*node.children[0]);
  scopes_.close();
  if (num_captures_ > 0) {
    output_.has_hidden_generation = true;
  } else {
    spend(32);
    output_.generated.resize(num_before);
    output_.generated.push_back({begin, output_.text.size()});
  }
  return flow;
}

JinjaTemplate::JinjaTemplate(std::string_view source, const TemplateDate& date) {
  std::unique_ptr<JinjaProgram> program = parse_jinja(source);
  program->date = date;
  program_ = std::move(program);
}

JinjaTemplate::~JinjaTemplate() = default;

JinjaOutput JinjaTemplate::render(const Variables& variables, std::size_t& work) const {
  return JinjaRuntime(*program_, variables, work).run();
}

bool JinjaTemplate::mentions(std::string_view word) const {
  return program_->words.contains(word);
}

bool JinjaTemplate::has_generation() const {
  return program_->has_generation;
}

}  // namespace multicard
