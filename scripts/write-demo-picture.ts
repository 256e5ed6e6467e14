// Draws docs/demo.svg from what `holdfast demo` prints on stdin: the chapter in which a worker is
// killed, and the figures at the end. Text stays text, and the colours follow the reader's light or
// dark mode. `npm run write:demo-picture` runs it.
import { writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';

const PICTURE = new URL('../docs/demo.svg', import.meta.url);
const CHAPTER = /^\d+\. A worker is killed/;
const FIGURES = /messages · .*taken over after/;
const FONT_SIZE = 13;
const LINE_HEIGHT = 19;
/** Of a monospaced font, as a share of its size. */
const CHAR_WIDTH = 0.602;
const COLUMNS = 112;
const PADDING = 18;

const COLOURS = `
    .paper { fill: #ffffff; stroke: #d0d7de } .plain { fill: #1f2328 } .dim { fill: #59636e } .good { fill: #1a7f37 } .unknown { fill: #9a6700 } .who { fill: #0969da }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117; stroke: #30363d } .plain { fill: #e6edf3 } .dim { fill: #9198a1 } .good { fill: #3fb950 } .unknown { fill: #d29922 } .who { fill: #4493f8 }
    }`;

const lines = shownLines(await text(process.stdin));
writeFileSync(PICTURE, picture(lines));
process.stdout.write(`${lines.length} lines are in docs/demo.svg\n`);

function shownLines(output: string): string[] {
  const all = output.split('\n');
  const from = all.findIndex((line) => CHAPTER.test(line));
  const to = all.indexOf('', from);
  const figures = all.find((line) => FIGURES.test(line));
  if (from === -1 || to === -1 || figures === undefined)
    throw new Error('This is not the output of a demo that succeeded.');
  return ['$ npm run demo', '  ...', ...all.slice(from, to), '  ...', figures].flatMap(wrapped);
}

/** A long line continues below, further to the right. */
function wrapped(line: string): string[] {
  if (line.length <= COLUMNS) return [line];
  const at = line.lastIndexOf(' ', COLUMNS);
  return [line.slice(0, at), ...wrapped(`      ${line.slice(at + 1)}`)];
}

function picture(shown: readonly string[]): string {
  const width = Math.ceil(COLUMNS * CHAR_WIDTH * FONT_SIZE) + 2 * PADDING;
  const height = shown.length * LINE_HEIGHT + 2 * PADDING - 4;
  const rows = shown.map((line, at) => row(line, PADDING + FONT_SIZE + at * LINE_HEIGHT));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The output of npm run demo">
  <style>${COLOURS}
    text { font: ${FONT_SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; white-space: pre }
  </style>
  <rect class="paper" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" />
${rows.join('\n')}
</svg>
`;
}

function row(line: string, y: number): string {
  const [, indent = '', mark = '', rest = ''] = /^( *)(✔|\?|user|model(?= {2})|)(.*)$/.exec(line) ?? [];
  const markClass = { '✔': 'good', '?': 'unknown' }[mark] ?? 'who';
  const restClass = mark === '' && indent !== '' ? 'dim' : 'plain';
  const marked = mark === '' ? '' : `<tspan class="${markClass}">${mark}</tspan>`;
  const x = PADDING + indent.length * CHAR_WIDTH * FONT_SIZE;
  return `  <text xml:space="preserve" x="${x.toFixed(1)}" y="${y}">${marked}<tspan class="${restClass}">${escaped(rest)}</tspan></text>`;
}

function escaped(plain: string): string {
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
