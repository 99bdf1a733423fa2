// The order in which the tabulator key reaches what can be activated. The test presses it and calls step() after each.
window.gallery.focus = (() => {
  const {place, shorten, visible} = window.gallery;
  const ACTIVE = 'a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]';
  let reached = [], found = [];
  const report = (element, numbers) => found.push({element: place(element),
    text: shorten(element.getAttribute('aria-label') || element.textContent), numbers});

  // What is reached, in the order of the document.
  const expected = () => [...document.querySelectorAll(ACTIVE)]
    .filter((e) => e.tabIndex >= 0 && !e.disabled && visible(e) && e.getClientRects().length);

  const at = (element) => {
    const box = element.getBoundingClientRect();
    return {left: box.left + scrollX, right: box.right + scrollX, top: box.top + scrollY, bottom: box.bottom + scrollY};
  };

  const styleOf = (element) => {
    const {outlineStyle, outlineWidth, boxShadow, backgroundColor, borderColor, textDecorationLine, color} =
      getComputedStyle(element);
    return {outline: outlineStyle === 'none' || outlineWidth === '0px' ? '' : outlineStyle,
      rest: [boxShadow, backgroundColor, borderColor, textDecorationLine, color].join('; ')};
  };
  let resting = new Map();

  function begin() {
    reached = [];
    found = [];
    document.activeElement.blur();
    scrollTo({top: 0, behavior: 'instant'});
    document.documentElement.style.scrollBehavior = 'auto';
    for (const svg of document.querySelectorAll('svg'))  // painting them again and again takes most of the time
      if (!svg.querySelector('a, [tabindex], [role]')) svg.style.visibility = 'hidden';
    resting = new Map(expected().map((e) => [e, styleOf(e).rest]));
    return resting.size;
  }

  // After a press of the key: whether the focus is on something that it has not been on.
  function step() {
    const element = document.activeElement;
    if (!element || element === document.body || element === document.documentElement || reached.includes(element))
      return false;
    const box = element.getBoundingClientRect(), style = styleOf(element);
    if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth)
      report(element, `outside of the window with the focus: at ${Math.round(box.left)}, ${Math.round(box.top)} px`);
    if (!style.outline && style.rest === resting.get(element))
      report(element, 'no outline or other sign of the focus: outline of 0 px');
    reached.push(element);
    return true;
  }

  // Within a region of the page, the focus goes downwards, and to the right within a line or a column.
  function checkPlaces() {
    const region = (e) => e.closest('nav, header, aside, footer, main') || document.body;
    for (let i = 1; i < reached.length; ++i) {
      const from = at(reached[i - 1]), to = at(reached[i]);
      if (region(reached[i - 1]) !== region(reached[i])) continue;
      if (to.bottom <= from.top + 1 && to.left < from.right - 1)
        report(reached[i], `${Math.round(from.top - to.top)} px above what had the focus before`);
    }
  }

  function end() {
    const wanted = expected();
    for (const e of wanted) {
      if (!reached.includes(e)) report(e, `not among the ${reached.length} elements that the tabulator key reaches`);
      if (e.tabIndex > 0) report(e, `tabindex of ${e.tabIndex}`);
    }
    for (let i = 1; i < reached.length; ++i)
      if (reached[i].compareDocumentPosition(reached[i - 1]) & Node.DOCUMENT_POSITION_FOLLOWING)
        report(reached[i], `number ${i + 1} in the order of focus, before the one ahead of it in the document`);
    checkPlaces();
    return found;
  }

  return {begin, step, end};
})();
