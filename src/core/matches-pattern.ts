// Names with wildcards, as the configuration writes them: tools, models.

/**
 * True when `name` matches a pattern in which `*` stands for any text, also for none. Letter case matters: fold both where it should not.
 * Takes time in proportion to the length of the name for each `*`.
 */
export function matchesPattern(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (!name.startsWith(first)) return false;
  const last = rest.pop();
  if (last === undefined) return name === first;
  let from = first.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}
