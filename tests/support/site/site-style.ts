/** The style of the site: one column of text beside a menu, in the reader's own light or dark. */
export const SITE_STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8dbe0, #3a3f47); --soft: light-dark(#f4f5f7, #22262c); --link: light-dark(#0b57c2, #8ab4f8); }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; display: grid; grid-template-columns: 15rem minmax(0, 1fr); }
nav { padding: 1.5rem 1rem; border-right: 1px solid var(--line); font-size: .9rem; height: 100vh; overflow: auto; position: sticky; top: 0; }
nav h2 { font-size: .8rem; text-transform: uppercase; letter-spacing: .05em; margin: 1.2rem 0 .3rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav [aria-current] { font-weight: 600; }
main { padding: 1.5rem 2.5rem 6rem; max-width: 62rem; }
a { color: var(--link); }
img { max-width: 100%; height: auto; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem; overflow: auto; }
code { font: .9em/1.5 ui-monospace, monospace; }
:not(pre) > code { background: var(--soft); border-radius: 4px; padding: .1em .3em; }
table { border-collapse: collapse; display: block; overflow: auto; }
th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
@media (max-width: 52rem) { body { display: block; } nav { position: static; height: auto; border: 0; } main { padding: 1rem; } }
`;
