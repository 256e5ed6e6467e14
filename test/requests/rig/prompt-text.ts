// Reading the text of a prompt in tests.

/** The time of a system event in UTC, which tests do not know. */
const EVENT_TIME = String.raw`\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\]`;

/** The whole text as a pattern, in which `[..]` is the time of an event. */
export function layout(...lines: string[]): RegExp {
  const escaped = lines.join('\n').replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll(String.raw`\[\.\.\]`, EVENT_TIME)}$`);
}

/** The labelled JSON blocks of a prompt, in order. */
export function blocksOf(prompt: string): { label: string; value: unknown }[] {
  return [...prompt.matchAll(/^(.+:)\n```json\n([\s\S]*?)\n```$/gm)].map(([, label = '', json = '']) => ({
    label,
    value: JSON.parse(json) as unknown,
  }));
}

/** The first position of each text, in the order given; a wrong order or -1 shows a failure. */
export function placesOf(text: string, parts: readonly string[]): number[] {
  return parts.map((part) => text.indexOf(part));
}

/** The headings of a system prompt in their order, one line each. */
export function headingsOf(systemText: string): string[] {
  return systemText.split('\n').filter((line) => /^#{1,3} /.test(line));
}
