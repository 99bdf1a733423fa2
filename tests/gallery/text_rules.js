// Rules about the text of a page: overlaps, what is cut off, sizes, contrast in figures. Each returns what violates it:
// [{element, text, numbers}].
window.gallery = (() => {
  const MIN_SIZE = 11, MIN_CONTRAST = 4.5, MIN_OVERLAP = 0.5, SLACK = 1;
  const pen = document.createElement('canvas').getContext('2d');
  const round = (x) => Math.round(x * 10) / 10;
  const shorten = (text) => {
    const line = text.replace(/\s+/g, ' ').trim();
    return line.length > 70 ? line.slice(0, 69) + '…' : line;
  };

  // Where an element is, for a reader: its tag, id or class, and the figure or section that it is in.
  function place(element) {
    const name = element.tagName.toLowerCase();
    const own = element.id ? '#' + element.id :
      (element.getAttribute('class') || '').trim().split(/\s+/).filter(Boolean).map((word) => '.' + word).join('');
    const around = element.parentElement && element.parentElement.closest('figure[id], [data-table], section[id]');
    const where = around && (around.id ? '#' + around.id : around.dataset.table);
    return `<${name}${own}>` + (where ? ` in ${where}` : '');
  }

  // Boxes of one pixel, which only screen readers see.
  const clipped = new WeakMap();
  function isClipped(element) {
    if (!element || element === document.body) return false;
    if (!clipped.has(element)) {
      const style = getComputedStyle(element);
      clipped.set(element, isClipped(element.parentElement) || style.position === 'absolute' &&
        (style.clip !== 'auto' || style.clipPath !== 'none') && element.getBoundingClientRect().width <= 2);
    }
    return clipped.get(element);
  }

  const visible = (element) =>
    element.checkVisibility({opacityProperty: true, visibilityProperty: true}) && !isClipped(element);

  // Text nodes that are not in an SVG, with the boxes of their lines.
  function htmlTexts(root) {
    const found = [], walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (!node.data.trim() || element.closest('svg, script, style, noscript, template') || !visible(element)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const rects = [...range.getClientRects()].filter((r) => r.width > 0.5 && r.height > 0.5);
      if (rects.length) found.push({element, text: node.data, rects});
    }
    return found;
  }

  function scaleOf(element) {
    const m = element.getScreenCTM();
    return m ? Math.sqrt(Math.abs(m.a * m.d - m.b * m.c)) : 0;
  }

  // The ink of the characters [first, last] of an SVG text, which share a baseline: a rectangle, turned as the text is.
  function inkOf(text, first, last, words) {
    const m = text.getScreenCTM(), style = getComputedStyle(text);
    pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const ink = pen.measureText(words), baseline = text.getStartPositionOfChar(first);
    const boxes = [];
    for (let i = first; i <= last; ++i) boxes.push(text.getExtentOfChar(i));
    const left = Math.min(...boxes.map((b) => b.x)), right = Math.max(...boxes.map((b) => b.x + b.width));
    const top = baseline.y - ink.actualBoundingBoxAscent, bottom = baseline.y + ink.actualBoundingBoxDescent;
    return [[left, top], [right, top], [right, bottom], [left, bottom]]
      .map(([x, y]) => ({x: m.a * x + m.c * y + m.e, y: m.b * x + m.d * y + m.f}));
  }

  // Lines of an SVG text: {element, text, corners}. Tspans with an x or y of their own begin another.
  function linesOf(text) {
    const found = [], words = text.textContent, count = text.getNumberOfChars();
    for (let first = 0; first < count;) {
      const start = text.getStartPositionOfChar(first);
      let last = first, end = text.getEndPositionOfChar(first);
      for (; last + 1 < count; ++last) {
        const next = text.getStartPositionOfChar(last + 1);
        if (Math.abs(next.y - start.y) > 0.5 || Math.abs(next.x - end.x) > 8) break;
        end = text.getEndPositionOfChar(last + 1);
      }
      const line = count === words.length ? words.slice(first, last + 1) : words;
      if (line.trim()) found.push({element: text, text: line, corners: inkOf(text, first, last, line)});
      first = last + 1;
    }
    return found;
  }

  const svgTexts = (root) => [...root.querySelectorAll('svg text')]
    .filter((text) => text.textContent.trim() && text.getNumberOfChars() && visible(text)).flatMap(linesOf);

  // Texts that the frame of their SVG leaves something of.
  const shownSvgTexts = (root) => svgTexts(root).filter(({element, corners}) => {
    const rect = rectOf(corners), frame = element.ownerSVGElement.getBoundingClientRect();
    return getComputedStyle(element.ownerSVGElement).overflow === 'visible' || rect.right > frame.left &&
      rect.left < frame.right && rect.bottom > frame.top && rect.top < frame.bottom;
  });

  // How far two rectangles, which may be turned, overlap in the direction in which they overlap least, in pixels.
  function overlap(a, b) {
    let least = Infinity;
    for (const corners of [a, b]) {
      for (const [i, j] of [[0, 1], [1, 2]]) {
        const dx = corners[j].x - corners[i].x, dy = corners[j].y - corners[i].y, length = Math.hypot(dx, dy);
        if (!length) return 0;
        const along = (points) => points.map((p) => (p.x * dx + p.y * dy) / length), p = along(a), q = along(b);
        least = Math.min(least, Math.min(Math.max(...p), Math.max(...q)) - Math.max(Math.min(...p), Math.min(...q)));
      }
    }
    return least;
  }

  const rectOf = (corners) => ({
    left: Math.min(...corners.map((p) => p.x)), right: Math.max(...corners.map((p) => p.x)),
    top: Math.min(...corners.map((p) => p.y)), bottom: Math.max(...corners.map((p) => p.y))});

  // Of HTML the boxes of a font are higher than its ink: a sixth above and below.
  const cornersOf = (r) => [[r.left, r.top + r.height / 6], [r.right, r.top + r.height / 6],
    [r.right, r.bottom - r.height / 6], [r.left, r.bottom - r.height / 6]].map(([x, y]) => ({x, y}));

  // No text of a figure lies on other text.
  function overlaps() {
    const found = [];
    for (const figure of document.querySelectorAll('figure, svg')) {
      if (figure.tagName === 'svg' && figure.closest('figure')) continue;
      const lines = shownSvgTexts(figure.tagName === 'svg' ? figure.parentElement : figure)
        .filter((line) => figure.contains(line.element));
      for (const {element, text, rects} of htmlTexts(figure))
        for (const rect of rects) lines.push({element, text, corners: cornersOf(rect), isHtml: true});
      for (let i = 0; i < lines.length; ++i) {
        for (let j = i + 1; j < lines.length; ++j) {
          if (lines[i].isHtml && lines[j].isHtml && lines[i].element === lines[j].element) continue;
          const depth = overlap(lines[i].corners, lines[j].corners);
          if (depth > MIN_OVERLAP)
            found.push({element: place(lines[i].element), text: shorten(lines[i].text),
              numbers: `${round(depth)} px over “${shorten(lines[j].text)}”`});
        }
      }
    }
    return found;
  }

  // What a box shows of a text: pixels that are cut off at its sides.
  function cut(rect, box) {
    return Math.max(box.left - rect.left, rect.right - box.right, box.top - rect.top, rect.bottom - box.bottom);
  }

  // A box in which a reader scrolls to the rest of a table, and that holds nothing else.
  const isTableWrapper = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX) &&
    element.children.length > 0 && [...element.children].every((e) => e.matches('table') || e.querySelector('table'));

  // No text is cut off by what it is in: an SVG's frame, a box that clips, the left edge of the page.
  function cutOff() {
    const found = [];
    const report = (element, text, pixels, box) => found.push({element: place(element), text: shorten(text),
      numbers: `${round(pixels)} px are cut off by ${box}`});
    for (const {element, text, corners} of svgTexts(document)) {
      const rect = rectOf(corners);
      for (let svg = element.ownerSVGElement; svg; svg = svg.ownerSVGElement) {
        if (getComputedStyle(svg).overflow === 'visible') continue;
        const frame = svg.getBoundingClientRect(), pixels = cut(rect, frame);
        const isLost = pixels >= Math.min(rect.right - rect.left, rect.bottom - rect.top);
        if (pixels > SLACK) report(element, text, pixels, 'the frame of the figure' + (isLost ? ': all of it' : ''));
      }
    }
    for (const {element, text, rects} of htmlTexts(document.body)) {
      const worst = (box) => Math.max(...rects.map((rect) => cut(rect, box)));
      for (let e = element; e && e !== document.body; e = e.parentElement) {
        const style = getComputedStyle(e);
        if (style.overflowX === 'visible' && style.overflowY === 'visible' || isTableWrapper(e)) continue;
        const pixels = worst(e.getBoundingClientRect());
        if (pixels > SLACK) report(element, text, pixels, place(e));
      }
      const left = Math.max(...rects.map((rect) => -rect.left - scrollX));
      if (left > SLACK && !element.closest('.skip, [class*=skip]')) report(element, text, left, 'the edge of the page');
    }
    return found;
  }

  // All text is large enough, as it appears after an SVG has been scaled.
  function sizes() {
    const found = [], sized = [];
    for (const {element} of htmlTexts(document.body)) sized.push([element, 1]);
    for (const {element} of shownSvgTexts(document)) {
      const parts = element.querySelectorAll('tspan');
      for (const part of parts.length ? parts : [element])
        if (part.textContent.trim()) sized.push([part, scaleOf(element)]);
    }
    for (const [element, scale] of new Map(sized)) {
      const size = parseFloat(getComputedStyle(element).fontSize) * scale;
      if (size < MIN_SIZE - 0.05)
        found.push({element: place(element), text: shorten(element.textContent),
          numbers: `${round(size)} px (at least ${MIN_SIZE} px)`});
    }
    return found;
  }

  return {MIN_CONTRAST, overlaps, cutOff, sizes, round, shorten, place, visible, linesOf, svgTexts, htmlTexts};
})();
