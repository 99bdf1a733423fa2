// Rules about a page as a whole: its width, figures, headings, texts that must be there, its length.
Object.assign(window.gallery, (() => {
  const {htmlTexts, place, shorten, visible} = window.gallery;
  const violation = (element, text, numbers) => ({element: place(element), text: shorten(text), numbers});

  // The page does not scroll sideways. Names what sticks out most.
  function sidewaysScroll() {
    const page = document.scrollingElement, found = [];
    const viewport = document.querySelector('meta[name=viewport]');
    if (!viewport || !/width\s*=\s*device-width/.test(viewport.content))
      found.push(violation(document.documentElement, document.title, 'no meta viewport of width=device-width'));
    if (page.scrollWidth <= page.clientWidth) return found;
    const scrolls = (e) => e !== page && e !== document.body && getComputedStyle(e).overflowX !== 'visible';
    const inBox = (e) => { for (let p = e.parentElement; p; p = p.parentElement) if (scrolls(p)) return true; };
    const texts = htmlTexts(document.body).filter(({element}) => !scrolls(element))
      .map(({element, rects}) => [element, ...rects.map((rect) => rect.right)]);
    const boxes = [...document.body.querySelectorAll('*')].map((e) => [e, e.getBoundingClientRect().right]);
    const wide = [...texts, ...boxes].filter(([e]) => visible(e) && !inBox(e))
      .map(([e, ...rights]) => [e, Math.max(...rights) + scrollX]).sort((a, b) => b[1] - a[1]);
    const [element, right] = wide[0] || [page, page.scrollWidth];
    found.push(violation(element, element.textContent,
      `${page.scrollWidth} px wide in a window of ${page.clientWidth} px; this ends at ${Math.round(right)} px`));
    return found;
  }

  // Tables that the page shows unfolded, and that of all cells, do not scroll sideways in a wide window.
  function wideTables() {
    return [...document.querySelectorAll('table[data-table]')]
      .filter((table) => table.dataset.table === 'cells' || !table.closest('details'))
      .map((table) => [table, table.closest('.scroll') || table.parentElement])
      .filter(([, box]) => box.scrollWidth > box.clientWidth)
      .map(([table, box]) => violation(table, table.tHead ? table.tHead.textContent : table.textContent,
        `${box.scrollWidth} px wide in ${box.clientWidth} px`));
  }

  const TRANSPARENT = /^rgba\(.*, 0\)$|^transparent$|^none$/;
  const isNeutral = (colour) => {
    const [r, g, b] = (colour.match(/[\d.]+/g) || [0, 0, 0]).map(Number);
    return Math.max(r, g, b) - Math.min(r, g, b) < 24;
  };

  // Whether a path is made of level and upright lines alone, as axes, ticks and grids are.
  function isOfAxis(shape) {
    if (shape.tagName === 'line')
      return Math.abs(shape.x1.baseVal.value - shape.x2.baseVal.value) < 0.01 ||
        Math.abs(shape.y1.baseVal.value - shape.y2.baseVal.value) < 0.01;
    if (shape.tagName !== 'path' && shape.tagName !== 'polyline') return false;
    const box = shape.getBBox(), length = shape.getTotalLength();
    const sides = [box.width, box.height, box.width + box.height, 2 * (box.width + box.height)];
    return sides.some((side) => Math.abs(side - length) < 0.5) ||
      /^[MmLl\d\s,.HhVvZz-]*$/.test(shape.getAttribute('d') || '') && box.width * box.height < 1;
  }

  // A mark shows data: a shape with a colour, or one that axes, ticks and frames do not have.
  function isMark(shape, svg) {
    if (shape.closest('defs, clipPath, mask, marker, pattern, symbol') || !visible(shape)) return false;
    const style = getComputedStyle(shape), box = shape.getBoundingClientRect(), all = svg.getBoundingClientRect();
    if (Math.max(box.width, box.height) < 0.5 || box.width * box.height > 0.95 * all.width * all.height) return false;
    if (shape.tagName === 'use' || shape.tagName === 'image') return true;
    const fill = TRANSPARENT.test(style.fill) || +style.fillOpacity === 0 ? null : style.fill;
    const stroke = TRANSPARENT.test(style.stroke) || +style.strokeOpacity <= 0.3 ? null : style.stroke;
    if (fill && box.width > 0.5 && box.height > 0.5 && !isNeutral(fill)) return true;
    if (stroke && !isNeutral(stroke)) return true;
    if (fill && /circle|ellipse|rect|polygon/.test(shape.tagName))  // not the ground of a plot
      return box.width > 0.5 && box.height > 0.5 && box.width * box.height < 0.5 * all.width * all.height;
    return Boolean(stroke) && !isOfAxis(shape) && shape.tagName !== 'rect';
  }

  // Pictures of the page: figures, and whatever is drawn outside of one.
  const drawings = () => [...document.querySelectorAll('figure, svg, canvas, img')]
    .filter((e) => visible(e) && !(e.parentElement && e.parentElement.closest('figure, svg')))
    .filter((e) => e.getAttribute('aria-hidden') !== 'true');

  const captionOf = (figure) =>
    (figure.querySelector('h1, h2, h3, h4, h5, h6, figcaption, title') || figure).textContent;

  // Every figure shows marks, a table or a picture.
  function emptyFigures() {
    const found = [];
    for (const figure of drawings()) {
      const svgs = figure.tagName === 'svg' ? [figure] : [...figure.querySelectorAll('svg')];
      const shapes = svgs.flatMap((svg) => [...svg.querySelectorAll(
        'path, line, polyline, polygon, rect, circle, ellipse, use, image')].filter((shape) => isMark(shape, svg)));
      const boxes = [...figure.querySelectorAll('div, span, i, td')].filter((e) => !e.closest('svg') && visible(e) &&
        !e.textContent.trim() && !TRANSPARENT.test(getComputedStyle(e).backgroundColor) &&
        e.getBoundingClientRect().width > 0.5);
      const others = figure.matches('img, canvas') || figure.querySelector('img, canvas, tbody td');
      if (!shapes.length && !boxes.length && !others)
        found.push(violation(figure, captionOf(figure), `0 marks in ${svgs.length} drawings`));
    }
    return found;
  }

  const textOf = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id)).filter(Boolean)
    .map((e) => e.textContent).join(' ');

  function alternative(element) {
    const own = (name) => element.getAttribute(name) || '';
    const child = (tag) => [...element.children].filter((e) => e.tagName === tag).map((e) => e.textContent).join(' ');
    const name = textOf(own('aria-labelledby')) || own('aria-label') || own('alt') || child('title');
    return {name: name.trim(), all: [name, textOf(own('aria-describedby')), child('desc')].join(' ')};
  }

  // Every drawing says what it shows, with numbers, to those who do not see it.
  function unnamedFigures() {
    const found = [];
    for (const figure of drawings()) {
      const inner = figure.matches('figure') ? [...figure.querySelectorAll('svg, img, canvas')]
        .filter((e) => !e.parentElement.closest('svg') && !e.closest('[aria-hidden=true]')) : [figure];
      for (const drawing of inner.length ? inner : [figure]) {
        let {name, all} = alternative(drawing.closest('[role=img]') || drawing);
        if (drawing === figure) {
          const said = [...figure.querySelectorAll('figcaption, table')].map((e) => e.textContent).join(' ').trim();
          name = name || said;
          all += said;
        }
        if (!name) found.push(violation(drawing, captionOf(figure), 'no accessible name'));
        else if (!/\d/.test(all)) found.push(violation(drawing, all, 'no number in its text alternative'));
      }
    }
    return found;
  }

  // One heading of level 1, first; none skips a level.
  function headings() {
    const found = [], all = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(visible);
    const ones = all.filter((h) => h.tagName === 'H1').length;
    if (ones !== 1) found.push(violation(document.body, document.title, `${ones} headings of level 1`));
    let before = 0;
    for (const heading of all) {
      const level = Number(heading.tagName[1]);
      if (level > before + 1)
        found.push(violation(heading, heading.textContent, `level ${level} after level ${before}`));
      before = level;
    }
    return found;
  }

  // Texts that must not be empty: titles, headings, captions, and the names of what can be activated.
  function emptyTexts() {
    const found = [];
    if (!document.title.trim()) found.push(violation(document.documentElement, '', 'the page has no title'));
    const spoken = (e) => e.textContent.trim() || alternative(e).name ||
      [...e.querySelectorAll('[aria-label], [alt], title')].some((part) => alternative(part).name);
    for (const e of document.querySelectorAll(
      'h1, h2, h3, h4, h5, h6, figcaption, caption, summary, button, a[href], legend, label, dt, svg > title'))
      if (!spoken(e)) found.push(violation(e, e.outerHTML, '0 characters'));
    for (const section of document.querySelectorAll('section')) {
      const rest = [...section.children].filter((e) => !/^H[1-6]$/.test(e.tagName));
      if (!rest.some((e) => e.textContent.trim()))
        found.push(violation(section, section.textContent, 'a section with a heading alone'));
    }
    for (const cell of document.querySelectorAll('th'))
      if (!spoken(cell) && cell.cellIndex > 0) found.push(violation(cell, cell.outerHTML, '0 characters'));
    return found;
  }

  // Words of the page as it opens: outside tables and figures' labels, and what else there is.
  function words() {
    const count = (text) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    const shown = (root, leaveOut) => {
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), parts = [];
      for (let node = walker.nextNode(); node; node = walker.nextNode())
        if (!node.parentElement.closest(leaveOut) && visible(node.parentElement)) parts.push(node.data);
      return count(parts.join(' '));
    };
    const no = 'script, style, noscript, template, svg title, svg desc';
    return {prose: shown(document.body, no + ', table, svg'), labels: shown(document.body, no + ', table') -
      shown(document.body, no + ', table, svg'), all: shown(document.body, no)};
  }

  return {sidewaysScroll, wideTables, emptyFigures, unnamedFigures, headings, emptyTexts, words};
})());
