// Contrast of what axe cannot judge: the text of figures against what is painted under it, and text on pictures such as
// the shadows at the edges of wide tables, which are ignored here.
window.gallery.contrast = (() => {
  const {MIN_CONTRAST, htmlTexts, linesOf, place, shorten, visible} = window.gallery;
  const swatch = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});

  // Red, green, blue and opacity of any CSS colour.
  const colours = new Map();
  function parse(colour) {
    if (!colours.has(colour)) {
      swatch.clearRect(0, 0, 1, 1);
      swatch.fillStyle = colour;
      swatch.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = swatch.getImageData(0, 0, 1, 1).data;
      colours.set(colour, [r, g, b, a / 255]);
    }
    return colours.get(colour);
  }

  const blend = ([r, g, b, a], under) =>
    [r, g, b].map((x, i) => x * a + under[i] * (1 - a)).concat(1);

  function luminance([r, g, b]) {
    const [x, y, z] = [r, g, b].map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  }

  function ratio(a, b) {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  }

  function opacity(element) {
    let product = 1;
    for (let e = element; e && e !== document.documentElement; e = e.parentElement)
      product *= parseFloat(getComputedStyle(e).opacity);
    return product;
  }

  // What an element paints at a point: a colour with its opacity, or null.
  function paint(element, x, y) {
    const style = getComputedStyle(element);
    if (element instanceof SVGGeometryElement) {
      if (style.fill === 'none' || style.fill.startsWith('url')) return null;
      const at = new DOMPoint(x, y).matrixTransform(element.getScreenCTM().inverse());
      if (!element.isPointInFill(at)) return null;
      const [r, g, b, a] = parse(style.fill);
      return [r, g, b, a * parseFloat(style.fillOpacity) * opacity(element)];
    }
    if (element instanceof SVGElement && element.tagName !== 'svg') return null;
    const [r, g, b, a] = parse(style.backgroundColor);
    return [r, g, b, a * opacity(element)];
  }

  function stacked(layers) {
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches &&
      getComputedStyle(document.documentElement).colorScheme.includes('dark');
    let colour = isDark ? [18, 18, 18, 1] : [255, 255, 255, 1];
    for (const layer of layers.reverse()) colour = blend(layer, colour);
    return colour;
  }

  function backgroundAt(text, x, y) {
    const under = document.elementsFromPoint(x, y).filter((e) => e !== text && !text.contains(e));
    return stacked(under.map((e) => paint(e, x, y)).filter((colour) => colour && colour[3] > 0));
  }

  const hex = (colour) => '#' + colour.slice(0, 3).map((x) => Math.round(x).toString(16).padStart(2, '0')).join('');

  // The least contrast of three points of a text, with the colours.
  function worst(line) {
    const style = getComputedStyle(line.element), [a, b, c, d] = line.corners;
    const [r, g, blue, alpha] = parse(style.fill);
    const ink = [r, g, blue, alpha * parseFloat(style.fillOpacity) * opacity(line.element)];
    let least = {ratio: Infinity};
    for (const share of [0.1, 0.5, 0.9]) {
      const x = (a.x + d.x) / 2 + share * ((b.x + c.x) - (a.x + d.x)) / 2;
      const y = (a.y + d.y) / 2 + share * ((b.y + c.y) - (a.y + d.y)) / 2;
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) continue;
      const background = backgroundAt(line.element, x, y), front = blend(ink, background);
      const value = ratio(front, background);
      if (value < least.ratio) least = {ratio: value, front: hex(front), background: hex(background)};
    }
    return least;
  }

  const message = (element, text, {ratio, front, background}) => ({element: place(element), text: shorten(text),
    numbers: `${ratio.toFixed(2)}:1, ${front} on ${background} (at least ${MIN_CONTRAST}:1)`});
  const tooLow = ({ratio}) => ratio < MIN_CONTRAST - 0.005;

  function inFigures() {
    const found = [], style = document.createElement('style');
    style.textContent = '* { pointer-events: auto !important; }';  // elementsFromPoint() leaves out what ignores the mouse
    document.head.append(style);
    for (const element of document.querySelectorAll('svg text')) {
      if (!element.textContent.trim() || !element.getNumberOfChars() || !visible(element)) continue;
      element.scrollIntoView({behavior: 'instant', block: 'center', inline: 'center'});
      for (const line of linesOf(element)) {
        const least = worst(line);
        if (tooLow(least)) found.push(message(element, line.text, least));
      }
    }
    style.remove();
    scrollTo({top: 0, behavior: 'instant'});
    return found;
  }

  function onPictures() {
    const found = [];
    for (const element of new Set(htmlTexts(document.body).map((line) => line.element))) {
      const around = [];
      for (let e = element; e; e = e.parentElement) around.push(e);
      if (!around.some((e) => getComputedStyle(e).backgroundImage !== 'none')) continue;
      const background = stacked(around.map((e) => parse(getComputedStyle(e).backgroundColor)));
      const [r, g, b, a] = parse(getComputedStyle(element).color);
      const front = blend([r, g, b, a * opacity(element)], background);
      const least = {ratio: ratio(front, background), front: hex(front), background: hex(background)};
      if (tooLow(least)) found.push(message(element, element.textContent, least));
    }
    return found;
  }

  return () => inFigures().concat(onPictures());
})();
