"""The rules of the gallery, as applied to one page in one browser window."""

import collections
import dataclasses
import json
import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = ("text_rules.js", "page_rules.js", "contrast_rule.js", "focus_rule.js", "use_rules.js")
MAX_WORDS, MAX_PRINTED_PAGES = 400, 12
NARROW, WIDE = 390, 1440
MAX_FOCUS = 1500

# Rule -> what it says, in the order in which violations are printed.
RULES = {
    "overlap": "no text of a figure lies on other text",
    "cut-off": "no text is cut off",
    "text-size": "text is at least 11 px high in a window of %d px" % NARROW,
    "contrast": "text of figures and on pictures has a contrast of at least 4.5:1",
    "axe": "axe finds nothing against WCAG 2 A and AA",
    "sideways-scroll": "the page does not scroll sideways",
    "wide-table": "tables that are not folded fit a window of %d px" % WIDE,
    "empty-figure": "every figure shows something",
    "figure-name": "every figure has a text alternative with numbers",
    "headings": "headings are in order",
    "empty-text": "titles, headings, captions and names are not empty",
    "focus": "the tabulator key reaches everything, in the order in which it is read",
    "hover": "a pointer on a mark shows its numbers, and its run",
    "sorting": "columns of tables sort by pointer and by key, and say so",
    "words": "a scaling report has at most %d words outside its tables" % MAX_WORDS,
    "print": "a report prints at most %d pages" % MAX_PRINTED_PAGES,
}
IN_PAGE = {"overlap": "overlaps", "cut-off": "cutOff", "text-size": "sizes", "contrast": "contrast",
           "sideways-scroll": "sidewaysScroll", "wide-table": "wideTables", "empty-figure": "emptyFigures",
           "figure-name": "unnamedFigures", "headings": "headings", "empty-text": "emptyTexts", "hover": "hovers",
           "sorting": "sorting"}

# Of drawings that hold nothing but shapes and text, axe sees the title alone: it takes seconds for their thousands of
# elements, and judges none of them. Contrast on pictures, which it cannot judge either, is left to the rule `contrast`.
AXE = """(async () => {
  const plain = [...document.querySelectorAll('svg')].filter((svg) => !svg.parentElement.closest('svg') &&
    !svg.querySelector('a, foreignObject, [role], [tabindex], [onclick]'));
  const parts = plain.map((svg) => [...svg.childNodes].filter((e) => !/^(title|desc)$/.test(e.nodeName)));
  const following = parts.map((nodes) => nodes.map((node) => node.nextSibling));
  parts.flat().forEach((node) => node.remove());
  const options = {resultTypes: ['violations'], elementRef: true, preload: false};
  const pictures = [...document.body.querySelectorAll('*')]
    .filter((e) => getComputedStyle(e).backgroundImage !== 'none');
  const most = await axe.run(document, {...options, rules: {'color-contrast': {enabled: false}},
    runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}});
  const contrast = await axe.run({exclude: pictures}, {...options, runOnly: ['color-contrast']});
  const violation = (rule, node) => ({element: node.target.flat().join(' '),
    text: gallery.shorten(node.element ? node.element.textContent : node.html), numbers: rule.id + ': ' +
      node.failureSummary.split('\\n').slice(1).map((line) => line.trim()).join('; ')});
  const found = [...most.violations, ...contrast.violations]
    .flatMap((rule) => rule.nodes.map((node) => violation(rule, node)));
  plain.forEach((svg, i) => {
    for (let j = parts[i].length; j-- > 0;) svg.insertBefore(parts[i][j], following[i][j]);
  });
  return found;
})()"""


@dataclasses.dataclass(frozen=True)
class Violation:
    report: str
    width: int
    theme: str
    rule: str
    element: str
    text: str
    numbers: str

    def __str__(self):
        return "%s, %d px, %s: %s: %s “%s”: %s" % (self.report, self.width, self.theme, self.rule, self.element,
                                                  self.text, self.numbers)


def axe_script():
    """Where scripts/setup_peers.sh --gallery puts axe, or None."""
    cache = Path(os.environ.get("MULTICARD_CACHE") or Path.home() / ".cache/multicard")
    path = cache / "axe/axe.min.js"
    return path if path.exists() else None


def applies(rule, width):
    """Whether a rule holds in windows of this width."""
    return {"text-size": width <= NARROW, "wide-table": width >= WIDE}.get(rule, True)


class Inspector:
    """Applies the rules to pages that a browser shows."""

    def __init__(self, browser):
        self.browser = browser
        self._scripts = [(HERE / name).read_text() for name in SCRIPTS] + [axe_script().read_text()]

    def inspect(self, report, page, width, theme, is_scaling=False, picture=None):
        """The violations of a page. Words are counted of scaling reports alone."""
        browser = self.browser
        browser.show(page.as_uri(), width, theme)
        for script in self._scripts:
            browser.evaluate(script + "\n;true")
        found = []

        def add(rule, violations):
            found.extend(Violation(report, width, theme, rule, v["element"], v["text"], v["numbers"])
                         for v in violations)

        if is_scaling:
            add("words", self._words())
        add("print", self._printed())
        if picture:
            picture.write_bytes(browser.picture(width))
        browser.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        for rule, function in IN_PAGE.items():
            if applies(rule, width):
                add(rule, browser.evaluate("gallery.%s()" % function))
        add("axe", browser.evaluate(AXE))
        add("focus", self._focus())
        # Last: the focus stays where it is put.
        if browser.evaluate("gallery.focusSort()"):
            browser.press_enter()
            add("sorting", browser.evaluate("gallery.keySort()"))
        return found

    def _words(self):
        words = self.browser.evaluate("gallery.words()")
        if words["prose"] <= MAX_WORDS:
            return []
        return [self._of_page("%(prose)d words outside of tables and figures, %(labels)d in figures, %(all)d in all"
                              % words)]

    def _of_page(self, numbers):
        return {"element": self.browser.evaluate("gallery.place(document.body)"),
                "text": self.browser.evaluate("gallery.shorten(document.title)"), "numbers": numbers}

    def _printed(self):
        pages = self.browser.printed_pages()
        if 0 < pages <= MAX_PRINTED_PAGES:
            return []
        return [self._of_page("%d pages" % pages)]

    def _focus(self):
        wanted = self.browser.evaluate("gallery.focus.begin()")
        for _ in range(min(wanted + 2, MAX_FOCUS)):
            if not self.browser.press_tab("gallery.focus.step()"):
                break
        return self.browser.evaluate("gallery.focus.end()")


def summary(violations, limit=5):
    """By rule: how many there are in which renders, and the first few of each."""
    lines, by_rule = [], collections.defaultdict(list)
    for violation in violations:
        by_rule[violation.rule].append(violation)
    for rule, meaning in RULES.items():
        of_rule = by_rule.get(rule, [])
        reports = collections.Counter(violation.report for violation in of_rule)
        lines.append("%-15s %5d  %s" % (rule, len(of_rule), meaning))
        if reports:
            lines.append("    in " + ", ".join("%s %d" % item for item in sorted(reports.items())))
        lines += ["    " + str(violation) for violation in _spread(of_rule, limit)]
        if len(of_rule) > limit:
            lines.append("    and %d more" % (len(of_rule) - limit))
    return "\n".join(lines)


def _spread(violations, limit):
    """A few of them, of as many reports as possible."""
    seen = collections.Counter()
    ranked = []
    for violation in violations:
        ranked.append((seen[violation.report], violation))
        seen[violation.report] += 1
    return [violation for _, violation in sorted(ranked, key=lambda pair: pair[0])[:limit]]


def save(violations, path):
    path.write_text("".join("%s\n" % violation for violation in violations) or "none\n")
    path.with_suffix(".json").write_text(json.dumps([dataclasses.asdict(v) for v in violations], indent=1))
