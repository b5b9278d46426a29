/** Style of the report's page: readable on a desk and on a phone, light and dark. */
export const pageStyle = `
:root{color-scheme:light dark;--ink:#1f2328;--quiet:#59636e;--paper:#fff;--line:#d1d9e0;--soft:#f6f8fa;--good:#1a7f37;--bad:#cf222e;--unsure:#9a6700}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--quiet:#9198a1;--paper:#0d1117;--line:#3d444d;--soft:#151b23;--good:#3fb950;--bad:#f85149;--unsure:#d29922}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:1rem;color:var(--ink);background:var(--paper);font:16px/1.5 system-ui,sans-serif}
h1{margin:0;font-size:1.5rem;overflow-wrap:anywhere}
h2{font-size:1.1rem}
code,pre{font:0.85em/1.4 ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}
pre{padding:.5rem;background:var(--soft);margin:.5rem 0}
.quiet{color:var(--quiet);font-size:.85rem}
.outcome{font-size:1.25rem;font-weight:600;margin:.25rem 0}
.outcome.conformant{color:var(--good)}.outcome.not-conformant,.blocked{color:var(--bad)}.outcome.incomplete{color:var(--unsure)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem .75rem;margin:.5rem 0}
dt{color:var(--quiet)}dd{margin:0;overflow-wrap:anywhere}
.filters{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:.5rem;padding:.5rem 0;background:var(--paper);border-bottom:1px solid var(--line)}
.filters input[type=search]{flex:1 1 12rem;min-width:0;padding:.4rem .6rem;font:inherit;color:inherit;background:var(--soft);border:1px solid var(--line);border-radius:6px}
.filter{display:inline-flex;align-items:center;gap:.35rem;padding:.2rem .5rem;border:1px solid var(--line);border-radius:6px;white-space:nowrap}
.check{border-bottom:1px solid var(--line);padding:.35rem 0}
.check summary{cursor:pointer;overflow-wrap:anywhere}
blockquote{margin:.5rem 0;padding-left:.75rem;border-left:3px solid var(--line)}
.verdict{font-size:.75rem;font-weight:600;padding:.1rem .4rem;border-radius:4px;background:var(--soft);color:var(--quiet)}
.verdict.pass{color:var(--good)}.verdict.fail,.verdict.not-testable,.verdict.harness-error{color:var(--bad)}
.verdict.warn,.verdict.could-not-run,.verdict.inconclusive,.verdict.needs-input{color:var(--unsure)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.85rem;min-width:40rem}
td,th{text-align:left;vertical-align:top;padding:.2rem .5rem;border-bottom:1px solid var(--line)}
.num{text-align:right;font-variant-numeric:tabular-nums}
@media (max-width:30rem){body{padding:.75rem}dl{grid-template-columns:1fr}dt{margin-top:.35rem}.filters{position:static}}
[hidden]{display:none}
`;

/** Filters by verdict and by text; the page is whole without it. */
export const pageScript = `
const form=document.querySelector(".filters"),shown=document.getElementById("shown"),checks=[...document.querySelectorAll(".check")];
const search=form.querySelector("input[type=search]");
function apply(){
  const on=new Set([...form.querySelectorAll("input[type=checkbox]:checked")].map(box=>box.value));
  const text=search.value.trim().toLowerCase();
  let count=0;
  for(const check of checks){
    const fits=on.has(check.dataset.verdict)&&(text===""||check.textContent.toLowerCase().includes(text));
    check.hidden=!fits;
    if(fits)count++;
  }
  shown.textContent=count+" of "+checks.length+" checks";
}
form.addEventListener("input",apply);
form.addEventListener("submit",event=>event.preventDefault());
apply();
`;
