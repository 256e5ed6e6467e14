// Placeholder until the rules are there: pieces of at most `max` characters.
export function splitMarkdown(
  markdown: string,
  { max, measure }: { max: number; measure: (text: string) => number },
): string[] {
  const parts: string[] = [];
  for (let rest = markdown; rest !== '';) {
    let end = Math.min(max, rest.length);
    while (measure(rest.slice(0, end)) > max) end = Math.floor(end / 2);
    parts.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return parts;
}
