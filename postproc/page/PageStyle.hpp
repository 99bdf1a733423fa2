#pragma once
/// \file The style sheet and the script of the report.

namespace multicard::post {

inline constexpr const char* kStyleSheet = R"css(
:root { color-scheme: light dark; --page: #ffffff; --text: #1c1e21; --faint: #5f6368; --rule: #d9dce0; --tint: #f4f6f8;
  --link: #005b99; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171a; --text: #e6e8ea; --faint: #a0a6ad; --rule: #363b41; --tint: #1e2227; --link: #7cc4ff; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 1rem/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
a { color: var(--link); }
.frame { display: grid; grid-template-columns: minmax(0, 1fr); max-width: 58rem; margin: 0 auto; padding: 0 .75rem 4rem; }
main, header { min-width: 0; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 1.6rem 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.6rem 0 .6rem; padding-top: .5rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1.1rem; margin: 2rem 0 .3rem; }
h2 a.anchor, h3 a.anchor { color: inherit; text-decoration: none; }
h2 a.anchor:hover::after { content: " #"; color: var(--faint); }
p { margin: .6rem 0; max-width: 70ch; overflow-wrap: break-word; }
.meta, figcaption, .note { color: var(--faint); font-size: .88rem; line-height: 1.45; }
.subject { font-size: 1.05rem; margin: .2rem 0; }
#answer figure { margin-top: .8rem; }
nav { font-size: .9rem; margin: 1rem 0 0; padding: .6rem 1rem; background: var(--tint); border-radius: 6px; }
nav ol { margin: 0; padding-left: 1.3rem; columns: 2; column-gap: 1.5rem; }
nav a { text-decoration: none; }
figure { margin: 1.2rem 0 1.8rem; max-width: 33rem; min-width: 0; }
.figures { display: grid; grid-template-columns: minmax(0, 1fr); column-gap: 2rem; align-items: start; }
.figures > .wide { grid-column: 1 / -1; }
figure .title { font-size: 1.05rem; line-height: 1.3; margin: 0; font-weight: 700; }
figure .note { margin: .1rem 0 .3rem; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { margin-top: .3rem; max-width: 70ch; }
code, pre { font: .84em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code { overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--tint); padding: .8rem 1rem; border-radius: 6px; }
.scroll { overflow-x: auto; margin: .8rem 0;
  background: linear-gradient(to right, var(--page) 1.5rem, transparent) 0 0 / 3rem 100% no-repeat local,
    linear-gradient(to left, var(--page) 1.5rem, transparent) 100% 0 / 3rem 100% no-repeat local,
    linear-gradient(to right, var(--rule), transparent) 0 0 / .8rem 100% no-repeat scroll,
    linear-gradient(to left, var(--rule), transparent) 100% 0 / .8rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; min-width: 100%; }
th, td { padding: .32rem .5rem .32rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th.n, td.n { text-align: right; } td.n { white-space: nowrap; }
td { max-width: 26rem; }
table.many { font-size: .8rem; } .many th, .many td { padding-right: .35rem; }
td:first-child { min-width: 8rem; } td.n:first-child { min-width: 4rem; }
ul { max-width: 76ch; }
td.long { min-width: 12rem; }
th.n + th:not(.n), td.n + td:not(.n) { padding-left: .8rem; }
th { font-weight: 600; vertical-align: bottom; }
th button { all: unset; cursor: pointer; text-decoration: underline dotted; text-underline-offset: 3px; }
th button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: " \2191"; }
th[aria-sort=descending] button::after { content: " \2193"; }
tr.faint td { color: var(--faint); }
.tip:hover { stroke: currentColor; stroke-opacity: .7; }
dl { margin: .8rem 0; font-size: .92rem; }
dl div { display: grid; grid-template-columns: 9.5rem minmax(0, 1fr); gap: .8rem; padding: .28rem 0;
  border-bottom: 1px solid var(--rule); }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
.transcript { margin: 1.4rem 0; } .transcript p { font-weight: 600; margin: 0; }
.transcript p, .transcript dd { white-space: pre-wrap; } .transcript dl { margin: .2rem 0; max-width: 76ch; }
details { margin: .8rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
.warning { border-left: 4px solid #E69F00; padding: .2rem 0 .2rem .9rem; }
@media (max-width: 30rem) { nav ol { columns: 1; } dl div { grid-template-columns: 7rem minmax(0, 1fr); }
  h1 { font-size: 1.35rem; } }
@media screen and (min-width: 68.75rem) { .frame { max-width: 68rem; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media screen and (min-width: 84rem) {
  .frame { grid-template: "nav header" auto "nav main" 1fr / 12rem minmax(0, 68rem); column-gap: 3rem;
    max-width: 84rem; }
  header { grid-area: header; } main { grid-area: main; } nav { grid-area: nav; }
  nav { position: sticky; top: 1.6rem; align-self: start; margin-top: 1.8rem; background: none; padding: 0; }
  nav ol { columns: 1; } nav li { margin: .3rem 0; } }
@media print {
  @page { size: A4; margin: 18mm 16mm; }
  :root { color-scheme: light; --page: #fff; --text: #000; --faint: #444; --rule: #bbb; --tint: #f4f4f4; --link: #000; }
  body { font-size: 9pt; line-height: 1.35; } nav, #provenance, details:not([open]) { display: none; }
  .frame { display: block; max-width: none; padding: 0; } h1 { margin-top: 0; }
  h2 { margin: 1.2rem 0 .3rem; padding-top: .2rem; } h3 { margin: .8rem 0 .2rem; } p, ul { max-width: none; }
  figure, tr, dl div { break-inside: avoid; } h2, h3, h4, .note { break-after: avoid; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 6mm; }
  figure { max-width: 90mm; margin: .4rem 0 .8rem; } figure .title { font-size: 9.5pt; }
  details > dl { columns: 2; column-gap: 6mm; } th button { text-decoration: none; }
  .scroll { overflow: visible; background: none; } table { font-size: 7pt; }
  th, td { padding-right: .3rem; } td.long { min-width: 30mm; overflow-wrap: anywhere; }
  pre { white-space: pre-wrap; }
  .screen { display: none; } }
)css";

inline constexpr const char* kScript = R"js(
for (const head of document.querySelectorAll("th button")) head.addEventListener("click", () => {
  const th = head.parentElement, table = th.closest("table"), column = th.cellIndex;
  const down = th.getAttribute("aria-sort") === "ascending";
  for (const other of th.parentElement.children) other.removeAttribute("aria-sort");
  th.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
  const compare = (a, b) => {
    const x = key(a), y = key(b), p = Number(x), q = Number(y);
    if (x === "nan" || y === "nan") return (x === "nan") - (y === "nan");
    const order = Number.isNaN(p) || Number.isNaN(q) ? x.localeCompare(y, undefined, {numeric: true}) : p - q;
    return down ? -order : order;
  };
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort(compare));
});
addEventListener("beforeprint", () => document.querySelectorAll("details.printed").forEach(d => d.open = true));
)js";

}  // namespace multicard::post
