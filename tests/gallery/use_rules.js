// Rules about what a reader does with a page: pointing at marks of figures, sorting tables.
Object.assign(window.gallery, (() => {
  const {place, shorten, visible} = window.gallery;
  const violation = (element, text, numbers) => ({element: place(element), text: shorten(text), numbers});

  // What a pointer shows in a drawing: titles of its parts.
  const tipsOf = (svg) => [...svg.querySelectorAll('* > title')].filter((title) => title.parentElement !== svg)
    .map((title) => title.textContent);

  // Where the page lists runs, tips say of which they are, or of which rank.
  const ORIGIN = /\b(runs?|repeats?|pairs|ranks?|samples?)\b/;

  function hovers() {
    const found = [], hasRuns = document.querySelector('table[data-table=runs]');
    for (const svg of document.querySelectorAll('figure svg')) {
      if (svg.parentElement.closest('svg') || svg.getAttribute('aria-hidden') === 'true' || !visible(svg)) continue;
      const tips = tipsOf(svg), text = svg.getAttribute('aria-label') || svg.textContent;
      const empty = tips.filter((tip) => !tip.trim()).length;
      if (!tips.some((tip) => /\d/.test(tip)))
        found.push(violation(svg, text, `${tips.length} parts tell a pointer something, none of them a number`));
      else if (empty)
        found.push(violation(svg, text, `${empty} of ${tips.length} parts have an empty text`));
      else if (hasRuns && !tips.some((tip) => ORIGIN.test(tip)))
        found.push(violation(svg, text, `none of ${tips.length} texts says of which run it is: ${tips[0]}`));
    }
    return found;
  }

  const valuesOf = (table, column) => [...table.tBodies[0].rows].map((row) => row.cells[column])
    .map((cell) => cell.dataset.v ?? cell.textContent);

  // Numbers in order, those that are not known at the end in both directions.
  function isSorted(values, down) {
    const known = values.filter((value) => value !== 'nan').map(Number);
    const ends = values.slice(known.length).every((value) => value === 'nan');
    return ends && known.every((value, i) => i === 0 || (down ? known[i - 1] >= value : known[i - 1] <= value));
  }

  function sortingOf(table) {
    const heads = [...table.tHead.rows[0].cells], without = heads.filter((head) => !head.querySelector('button'));
    if (without.length) return `${without.length} of ${heads.length} columns have no button to sort by`;
    const column = heads.findIndex((_, i) => valuesOf(table, i).every((value) => value && !Number.isNaN(Number(
      value === 'nan' ? 0 : value))));
    if (table.tBodies[0].rows.length < 2 || column < 0) return '';
    for (const order of ['ascending', 'descending']) {
      heads[column].querySelector('button').click();
      const said = heads.map((head) => head.getAttribute('aria-sort'));
      if (said[column] !== order || said.some((one, i) => one && one !== 'none' && i !== column))
        return `column ${column + 1} says aria-sort=${said[column]} when it is ${order}`;
      if (!isSorted(valuesOf(table, column), order === 'descending'))
        return `column ${column + 1} is not ${order}: ${valuesOf(table, column).join(', ')}`;
    }
    return '';
  }

  function sorting() {
    const found = [];
    for (const table of document.querySelectorAll('table[data-table]')) {
      const wrong = table.tHead ? sortingOf(table) : '0 headers';
      if (wrong) found.push(violation(table, table.dataset.table, wrong));
    }
    return found;
  }

  // For a press of a key: the first column's button of a table with several rows gets the focus; then its order.
  const sortable = () => [...document.querySelectorAll('table[data-table]')]
    .find((table) => table.tBodies[0] && table.tBodies[0].rows.length > 1 && table.querySelector('th button'));
  const focusSort = () => { const table = sortable(); if (table) table.querySelector('th button').focus(); return !!table; };
  function keySort() {
    const head = sortable().querySelector('th'), order = head.getAttribute('aria-sort');
    return order === 'ascending' || order === 'descending' ? [] :
      [violation(head, head.textContent, 'the Enter key does not sort: 0 changes of aria-sort')];
  }

  return {hovers, sorting, focusSort, keySort};
})());
